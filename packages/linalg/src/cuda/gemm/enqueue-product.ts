import type { Enqueuing } from '@mercer/tensor/operation';
import { enqueueMatmul, type ProductCompute } from '@mercer/cuda-runtime';
import { dtypeBytes, type Storage, type Tensor } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { Setting } from '../../checks.js';
import type { Within } from '../cuda-call.js';
import { room } from '../kernels.js';
import { planBatches } from './batches.js';
import { placeOf, type Order, type Place, type Strided } from './strided.js';

/** Matrices in memory of a GPU. */
export interface Lying extends Strided {
  readonly memory: Tensor;
  /** Elements from the tensor's first one to the first matrix; default 0. */
  readonly offset?: number;
}

/** Operands of a product that the library takes where they lie; k is at least 1 and nothing is empty. */
export interface Product {
  readonly a: Lying;
  readonly b: Lying;
  readonly c: Lying;
  readonly alpha: number;
  readonly beta: number;
  /** Default: the operands' dtype. */
  readonly compute?: ProductCompute | undefined;
}

/** Enqueues c = alpha a b + beta c for every entry of the batch. Resolves when all of it is enqueued. @throws the signal's reason */
export function* enqueueProduct(
  { what, dtype, batchShape }: Setting,
  within: Within,
  { a, b, c, alpha, beta, compute = dtype }: Product,
  workspace: Storage | undefined,
): Enqueuing {
  const { factors, groups } = planBatches({ a, b, c }, batchShape);
  const placeC = placed(factors.c);
  const { order } = placeC;
  const placeA = placed(factors.a, order);
  const placeB = placed(factors.b, order);
  const bytes = dtypeBytes(dtype);
  for (const { batch, ...first } of groups) {
    yield* room(within);
    enqueueNative(
      within.stream,
      {
        what,
        reads: [a.memory, b.memory],
        writes: workspace === undefined ? [c.memory] : [c.memory, workspace],
      },
      (streams) => {
        const at = (name: 'a' | 'b' | 'c', leadingDimension: number) => {
          const { memory, offset = 0 } = { a, b, c }[name];
          const { buffer, byteOffset = 0 } = regionOf(memory);
          return {
            buffer,
            byteOffset: byteOffset + bytes * (offset + first[name]),
            leadingDimension,
            batchStride: factors[name].batchStrides[0] ?? 0,
          };
        };
        enqueueMatmul(streams.stream, {
          dtype,
          outDtype: undefined,
          compute,
          order,
          alpha,
          beta,
          batch,
          workspace: workspace && regionOf(workspace),
          m: factors.c.rows,
          n: factors.c.columns,
          k: factors.a.columns,
          transposeA: placeA.order !== order,
          transposeB: placeB.order !== order,
          a: at('a', placeA.leadingDimension),
          b: at('b', placeB.leadingDimension),
          c: undefined,
          d: at('c', placeC.leadingDimension),
        });
      },
    );
  }
}

function placed(matrix: Strided, preferred?: Order): Place {
  const place = placeOf(matrix, preferred);
  if (place === undefined)
    throw new RangeError('a matrix without a leading dimension was not copied');
  return place;
}
