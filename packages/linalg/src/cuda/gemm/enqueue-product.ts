import { cublasLt, type DeviceRegion, type ProductCompute } from '@mercer/cuda-runtime';
import { dtypeBytes, type Storage, type Stream } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { Setting } from '../../checks.js';
import type { MatrixOperand } from '../../operand.js';
import { planBatches } from './batches.js';
import { placeOf, type Order, type Place, type Strided } from './strided.js';

/** Operands of a product that the library takes where they lie; k is at least 1 and nothing is empty. */
export interface Product {
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: MatrixOperand;
  readonly alpha: number;
  readonly beta: number;
  /** Default: the operands' dtype. */
  readonly compute?: ProductCompute | undefined;
}

/** Enqueues c = alpha a b + beta c for every entry of the batch. Resolves when all of it is enqueued. */
export async function enqueueProduct(
  { what, dtype, batchShape }: Setting,
  stream: Stream,
  { a, b, c, alpha, beta, compute = dtype }: Product,
  workspace: Storage | undefined,
): Promise<void> {
  const { factors, groups } = planBatches({ a, b, c }, batchShape);
  const placeC = placed(factors.c);
  const { order } = placeC;
  const placeA = placed(factors.a, order);
  const placeB = placed(factors.b, order);
  const bytes = dtypeBytes(dtype);
  for (const { batch, ...first } of groups) {
    await stream.room();
    enqueueNative(
      stream,
      {
        what,
        reads: [a.memory, b.memory],
        writes: workspace === undefined ? [c.memory] : [c.memory, workspace],
      },
      (streams) => {
        const at = (name: 'a' | 'b' | 'c', leadingDimension: number) => ({
          ...behind(regionOf({ a, b, c }[name].memory), bytes * first[name]),
          leadingDimension,
          batchStride: factors[name].batchStrides[0] ?? 0,
        });
        cublasLt.matmul(streams.stream, {
          ...{ dtype, compute, order, alpha, beta, batch },
          ...(workspace && { workspace: regionOf(workspace) }),
          ...{ m: factors.c.rows, n: factors.c.columns, k: factors.a.columns },
          ...{ transposeA: placeA.order !== order, transposeB: placeB.order !== order },
          a: at('a', placeA.leadingDimension),
          b: at('b', placeB.leadingDimension),
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

const behind = ({ buffer, byteOffset = 0 }: DeviceRegion, bytes: number): DeviceRegion => ({
  buffer,
  byteOffset: byteOffset + bytes,
});
