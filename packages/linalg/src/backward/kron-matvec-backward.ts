import { MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { product, summed } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { WrtOption } from '../options.js';
import { split, turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';

/** The inputs of kronMatvec by name. */
export type KronMatvecInputs = readonly ('a' | 'b' | 'x')[];

/** Options of kronMatvecBackward. */
export interface KronMatvecBackwardOptions<W extends KronMatvecInputs>
  extends BackwardOptions<W>, WrtOption<W> {}

/** The inputs of the forward call. */
export interface KronMatvecSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly a: T;
  readonly b: T;
  readonly x: T;
}

/** How {@link kronMatvecBackward} is called. */
export interface KronMatvecBackward {
  <D extends LinalgDType, const W extends KronMatvecInputs = readonly ['a', 'b', 'x']>(
    gradient: TensorOperand<D>,
    saved: KronMatvecSaved<D, TensorOperand<NoInfer<D>>>,
    options?: KronMatvecBackwardOptions<W>,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <
    D extends LinalgDType,
    const W extends KronMatvecInputs = readonly ['a', 'b', 'x'],
  >(
    gradient: Tensor<D>,
    saved: KronMatvecSaved<NoInfer<D>>,
    options?: KronMatvecBackwardOptions<W>,
  ) => Promise<PreparedGradients<[gradient: Tensor<D>, saved: KronMatvecSaved<NoInfer<D>>], W, D>>;
}

/**
 * Gradients of `kronMatvec(a, b, x)`: given `gradient` = dL/dy, returns dL/da, dL/db and dL/dx without the Kronecker product.
 * With the gradient read as a matrix G of p rows and x as a matrix X of q rows, row by row, so that `Y = a X b^T`: da is
 * `G b X^T`, db is `G^T a X` and dx is `a^T G b` (Giles 2008, section 2.2.2).
 *
 * Shapes: gradient (..., p r), a (..., p, q), b (..., r, s), x (..., q s); every gradient has its input's shape: over axes that
 * were broadcast it is summed.
 *
 * @param saved a, b and x of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { kronMatvecBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const x = await tensor([1, 10], { device: 'cpu' });
 * const upstream = await tensor([1, 0], { device: 'cpu' });
 * const { x: dx } = await kronMatvecBackward(upstream, { a, b, x }, { wrt: ['x'] });
 * console.log(await dx.toNested()); // [ 3, 6 ]
 * ```
 */
export const kronMatvecBackward = linalgFunction<
  KronMatvecBackward,
  KronMatvecBackwardOptions<KronMatvecInputs>
>(
  {
    what: 'kronMatvecBackward',
    options: { ...BACKWARD_OPTIONS, wrt: true },
    read: ([gradient, { a, b, x }]: readonly [Tensor, KronMatvecSaved<LinalgDType>]) => [
      { a, b, x, gradient },
    ],
    vectors: ['x'],
    others: ['gradient'],
    results: ['a', 'b', 'x'],
    plan: (call) => {
      const { what, setting } = call;
      const { batchShape } = setting;
      const [a, b] = [call.view('a'), call.view('b')];
      const [[p = 0, q = 0], [r = 0, s = 0]] = [a.shape.slice(-2), b.shape.slice(-2)];
      const vector = call.tensor('x');
      if (vector.shape.at(-1) !== q * s) {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `${what}: x is ${vector.label}, and a kron b has ${q * s} columns. Pass the x of the forward call.`,
        );
      }
      assertLike(
        what,
        'gradient',
        call.tensor('gradient'),
        [...batchShape, p * r],
        call.tensor('a'),
      );
      const x = split(call.view('x'), -1, q, s);
      const g = split(call.view('gradient'), -1, p, r);
      const left = call.wants('a') || call.wants('x') ? product(call, g, b) : undefined;
      if (left !== undefined && call.wants('a')) {
        summed(call, [...batchShape, p, q], call.result('a', a.shape), (into) => {
          product(call, left, turned(x), { into });
        });
      }
      if (call.wants('b')) {
        summed(call, [...batchShape, r, s], call.result('b', b.shape), (into) => {
          product(call, turned(g), product(call, a, x), { into });
        });
      }
      if (left !== undefined && call.wants('x')) {
        const to = split(call.result('x', vector.shape), -1, q, s);
        summed(call, [...batchShape, q, s], to, (into) => {
          product(call, turned(a), left, { into });
        });
      }
    },
  },
  2,
);
