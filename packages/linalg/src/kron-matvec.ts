import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import { operationFunction, type CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { type KronOptions, KRON_OPTIONS } from './kron.js';
import { linalgOperation } from './linalg-operation.js';
import { matrixOperand, transposed, type PlannedMatrix } from './operand.js';
import type { PreparedRoutine } from './options.js';
import { planProduct } from './plan-product.js';

/** How {@link kronMatvec} is called. */
export interface KronMatvec {
  <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    x: Tensor<NoInfer<D>>,
    options?: KronOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    x: Tensor<NoInfer<D>>,
    options?: KronOptions<NoInfer<D>>,
  ) => Promise<
    PreparedRoutine<
      [a: Tensor<D>, b: Tensor<NoInfer<D>>, x: Tensor<NoInfer<D>>],
      Tensor<D>,
      Tensor<D>
    >
  >;
}

/**
 * Products `y = (a kron b) x` without the Kronecker product: with x read as a matrix X of q rows and s columns, row by row,
 * y is `a X b^T`. Two matrix products, in the cheaper order.
 *
 * Shapes: a (..., p, q), b (..., r, s), x (..., q s), result (..., p r). The leading batch axes broadcast, so several vectors
 * are one more batch axis of x. float32 or float64, the same for all. An x whose last axis is not contiguous is copied first;
 * `out` must be row-major.
 *
 * Resolves when the work is enqueued.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, NOT_CONTIGUOUS (out), DISPOSED, UNSUPPORTED, NO_BACKEND
 *
 * @example
 * ```ts
 * import { kronMatvec } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const x = await tensor([1, 10], { device: 'cpu' });
 * console.log(await (await kronMatvec(a, b, x)).toNested()); // [ 63, 84 ]
 * ```
 */
export const kronMatvec: KronMatvec = operationFunction(
  linalgOperation<KronOptions<LinalgDType>>({
    what: 'kronMatvec',
    matrices: ['a', 'b', 'x'],
    vectors: 1,
    options: KRON_OPTIONS,
    results: ['y'],
    plan: (call) => {
      const { setting, steps, what, matrices } = call;
      const { batchShape, dtype } = setting;
      const [a, b] = [call.operand(0), call.operand(1)];
      const [p, q, r, s] = [a.rows, a.columns, b.rows, b.columns];
      const vector = matrices[2] as Tensor;
      if (vector.shape.at(-1) !== q * s) {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `${what}: x is ${vector.label}, and a kron b has ${q * s} columns (${q} times ${s}). The last axis of x must have that many elements.`,
        );
      }
      const folded = (view: CallView, rows: number, columns: number): PlannedMatrix => {
        const step = view.strides.at(-1) ?? 1;
        const shape = [...view.shape.slice(0, -1), rows, columns];
        const strides = [...view.strides.slice(0, -1), columns * step, step];
        return matrixOperand({ ...view, shape, strides }, batchShape);
      };
      const x = folded(steps.input(2), q, s);
      const y = folded(call.vector('y', p * r), p, r);
      const half = (rows: number, columns: number): PlannedMatrix =>
        matrixOperand(
          steps.scratchMemory({ shape: [...batchShape, rows, columns], dtype }),
          batchShape,
        );
      const leftFirst = p * q * s + p * s * r <= q * s * r + p * q * r;
      if (leftFirst) {
        const ax = half(p, s);
        planProduct(call, { a, b: x, c: ax });
        planProduct(call, { a: ax, b: transposed(b), c: y });
      } else {
        const xb = half(q, r);
        planProduct(call, { a: x, b: transposed(b), c: xb });
        planProduct(call, { a, b: xb, c: y });
      }
    },
  }),
  3,
);
