import { availableBytes, type Enqueuing } from '@mercer/tensor/operation';
import type { Storage } from '@mercer/tensor';
import type { Setting } from '../../checks.js';
import type { MatrixLayout, MatrixOperand } from '../../operand.js';
import type { Within } from '../cuda-call.js';
import { room } from '../kernels.js';
import { enqueueProduct, type Lying } from './enqueue-product.js';
import { singleBatch } from './single-batch.js';
import { loadSplit, SplitFactor, splitBytesPerStep, type SplitSource } from './split-factor.js';
import { placeOf } from './strided.js';
import { planSplit } from './tf32x3-plan.js';

/** Most that the parts of both factors take at a time. */
const MOST_SPLIT_BYTES = 2 ** 31;

/** A product of operands that the library takes where they lie. */
export interface SplitProduct {
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: Lying;
  readonly alpha: number;
  readonly beta: number;
  /** Memory for the parts, and the chunk of a longer sum that this product is a part of. */
  readonly limits?: { readonly bytes: number; readonly chunk: number };
}

/**
 * Enqueues c = alpha a b + beta c for float32 through TF32 products of parts: lo hi and hi lo, which are small, then hi hi in
 * chunks of k. The numbers that are not finite join before the last: what they meet there is not 0 but where it is 0 itself, or
 * rounds to it.
 */
export function* enqueueSplitProduct(
  setting: Setting,
  within: Within,
  { a, b, c, alpha, beta, limits }: SplitProduct,
  workspace: Storage | undefined,
): Enqueuing {
  const { stream } = within;
  const sourceA = sourceOf(setting, a, 'columns');
  const sourceB = sourceOf(setting, b, 'rows');
  const k = a.columns;
  const bytesPerStep = splitBytesPerStep(sourceA) + splitBytesPerStep(sourceB);
  const budget = limits?.bytes ?? Math.min(MOST_SPLIT_BYTES, availableBytes(stream.device) / 4);
  const { chunk, block } = planSplit(k, bytesPerStep, budget, limits?.chunk);
  const kernels = yield* loadSplit(within);
  using partsA = new SplitFactor(sourceA, block, stream);
  using partsB = new SplitFactor(sourceB, block, stream);
  let kept = beta;
  const add = function* (x: Lying, y: Lying): Enqueuing {
    const product = { a: x, b: y, c, alpha, beta: kept, compute: 'tf32' } as const;
    yield* enqueueProduct(setting, within, product, workspace);
    kept = 1;
  };
  for (let first = 0; first < k; first += block) {
    const count = Math.min(block, k - first);
    yield* room(within);
    for (const factor of [partsA, partsB]) factor.split(kernels.parts, first, count);
    yield* add(partsA.part('lo'), partsB.part('hi'));
    yield* add(partsA.part('hi'), partsB.part('lo'));
    for (const factor of [partsA, partsB]) factor.restore(kernels.specials);
    for (let from = 0; from < count; from += chunk) {
      const steps = Math.min(chunk, count - from);
      yield* add(partsA.part('hi', from, steps), partsB.part('hi', from, steps));
    }
  }
}

/** A factor as the split reads it. @throws RangeError for one that was not copied */
function sourceOf(
  { batchShape }: Setting,
  operand: MatrixOperand,
  along: 'rows' | 'columns',
): SplitSource {
  const batch = singleBatch(batchShape, operand.batchStrides);
  const place = placeOf(operand);
  if (batch === undefined || place === undefined) {
    throw new RangeError('a factor that the split cannot read was not copied');
  }
  return { operand, place, batch, along };
}

/** Whether the split can read a factor as it lies. */
export function isSplittable(batchShape: readonly number[], factor: MatrixLayout): boolean {
  const isOneBatch = singleBatch(batchShape, factor.batchStrides) !== undefined;
  return isOneBatch && placeOf(factor) !== undefined;
}
