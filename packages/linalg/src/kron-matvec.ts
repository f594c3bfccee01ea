import { MercerError, type Pending, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  differentiable,
  inFront,
  operationFunction,
  summedTo,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { product } from './compose.js';
import { type KronOptions, KRON_OPTIONS } from './kron.js';
import { linalgOperation } from './linalg-operation.js';
import { matmulOf } from './matmul.js';
import type { PreparedRoutine } from './options.js';
import { split, turned } from './views.js';

/** How {@link kronMatvec} is called. */
export interface KronMatvec {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    x: TensorOperand<NoInfer<D>>,
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

/** Of `a X b^T` with the cotangent as a matrix G: `G b X^T`, `G^T a X` and `a^T G b`. */
const derivative: DerivativeRule<readonly [a: KnownValue, b: KnownValue, x: KnownValue]> = {
  vjp: (g, { args: [a, b, x], result }) => {
    const batch = result.shape.slice(0, -1);
    const [[p = 0, q = 0], [r = 0, s = 0]] = [a.shape.slice(-2), b.shape.slice(-2)];
    const upstream = (): Value => g.contiguous().reshape([...batch, p, r]);
    const matrix = (): Value => x.contiguous().reshape([...x.shape.slice(0, -1), q, s]);
    const turned = { transposeA: true };
    const ofA = (): Value => matmulOf(upstream(), matmulOf(b, matrix(), { transposeB: true }));
    const ofB = (): Value => matmulOf(upstream(), matmulOf(a, matrix()), turned);
    const ofX = (): Value => matmulOf(a, matmulOf(upstream(), b), turned);
    return [
      () => summedTo(ofA(), [...batch, p, q], a.shape),
      () => summedTo(ofB(), [...batch, r, s], b.shape),
      () =>
        summedTo(
          ofX()
            .contiguous()
            .reshape([...batch, q * s]),
          [...batch, q * s],
          x.shape,
        ),
    ];
  },
};

/**
 * Products `y = (a kron b) x` without the Kronecker product: with x read as a matrix X of q rows and s columns, row by row,
 * y is `a X b^T`. Two matrix products, in the cheaper order.
 *
 * Shapes: a (..., p, q), b (..., r, s), x (..., q s), result (..., p r). The leading batch axes broadcast, so several vectors
 * are one more batch axis of x. float32 or float64, the same for all.
 *
 * Resolves when the work is enqueued.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
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
export const kronMatvec: KronMatvec = differentiable(
  'kronMatvec',
  operationFunction(
    linalgOperation<KronOptions<LinalgDType>>({
      what: 'kronMatvec',
      matrices: ['a', 'b', 'x'],
      vectors: ['x'],
      options: KRON_OPTIONS,
      results: ['y'],
      plan: (call) => {
        const { setting, what } = call;
        const [a, b] = [call.view('a'), call.view('b')];
        const [[p = 0, q = 0], [r = 0, s = 0]] = [a.shape.slice(-2), b.shape.slice(-2)];
        const vector = call.tensor('x');
        if (vector.shape.at(-1) !== q * s) {
          throw new MercerError(
            'SHAPE_MISMATCH',
            `${what}: x is ${vector.label}, and a kron b has ${q * s} columns (${q} times ${s}). The last axis of x must have that many elements.`,
          );
        }
        const x = split(call.view('x'), -1, q, s);
        const into = split(call.result('y', [...setting.batchShape, p * r]), -1, p, r);
        const leftFirst = p * q * s + p * s * r <= q * s * r + p * q * r;
        if (leftFirst) product(call, product(call, a, x), turned(b), { into });
        else product(call, a, product(call, x, turned(b)), { into });
      },
    }),
    3,
  ),
  derivative,
  inFront(2, 2, 1),
  'one call',
);
