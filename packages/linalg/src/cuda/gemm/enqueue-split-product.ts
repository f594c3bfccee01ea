import type { Storage } from '@mercer/tensor';
import type { Setting } from '../../checks.js';
import type { MatrixOperand } from '../../operand.js';
import { availableBytes } from '../available-bytes.js';
import type { Within } from '../cuda-call.js';
import { enqueueProduct, type Lying } from './enqueue-product.js';
import { packed, type LibraryOperand } from './library-operand.js';
import { singleBatch, type SingleBatch } from './single-batch.js';
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
export async function enqueueSplitProduct(
  setting: Setting,
  within: Within,
  { a, b, c, alpha, beta, limits }: SplitProduct,
  workspace: Storage | undefined,
): Promise<void> {
  using left = await splittable(setting, a, 'columns', within);
  using right = await splittable(setting, b, 'rows', within);
  const { stream, signal } = within;
  const [sourceA, sourceB] = [left.source, right.source];
  const k = a.columns;
  const bytesPerStep = splitBytesPerStep(sourceA) + splitBytesPerStep(sourceB);
  const budget = limits?.bytes ?? Math.min(MOST_SPLIT_BYTES, availableBytes(stream.device) / 4);
  const { chunk, block } = planSplit(k, bytesPerStep, budget, limits?.chunk);
  const kernels = await loadSplit(stream.device, signal);
  using partsA = new SplitFactor(sourceA, block, stream);
  using partsB = new SplitFactor(sourceB, block, stream);
  let kept = beta;
  const add = async (x: Lying, y: Lying): Promise<void> => {
    const product = { a: x, b: y, c, alpha, beta: kept, compute: 'tf32' } as const;
    await enqueueProduct(setting, within, product, workspace);
    kept = 1;
  };
  for (let first = 0; first < k; first += block) {
    const count = Math.min(block, k - first);
    await stream.room({ signal });
    for (const factor of [partsA, partsB]) factor.split(kernels.parts, first, count);
    await add(partsA.part('lo'), partsB.part('hi'));
    await add(partsA.part('hi'), partsB.part('lo'));
    for (const factor of [partsA, partsB]) factor.restore(kernels.specials);
    for (let from = 0; from < count; from += chunk) {
      const steps = Math.min(chunk, count - from);
      await add(partsA.part('hi', from, steps), partsB.part('hi', from, steps));
    }
  }
}

/** A factor as the split reads it; the copy behind it, if there is one, is disposed with it. */
interface Splittable extends LibraryOperand {
  readonly source: SplitSource;
}

async function splittable(
  setting: Setting,
  operand: MatrixOperand,
  along: 'rows' | 'columns',
  within: Within,
): Promise<Splittable> {
  const { batchShape } = setting;
  const batch = singleBatch(batchShape, operand.batchStrides);
  const place = placeOf(operand);
  if (batch !== undefined && place !== undefined) {
    return { operand, source: { operand, place, batch, along }, [Symbol.dispose]: () => undefined };
  }
  const copy = await packed(setting, operand, within);
  const row = { order: 'row', leadingDimension: Math.max(1, operand.columns) } as const;
  const dense = singleBatch(batchShape, copy.operand.batchStrides) as SingleBatch;
  return { ...copy, source: { operand: copy.operand, place: row, batch: dense, along } };
}
