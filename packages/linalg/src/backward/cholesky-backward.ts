import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import { choice, type LinalgDType } from '../checks.js';
import { elementwise, product, triangularSolution } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import { TRIANGLE_OPTION, type TriangleOption } from '../options.js';
import { turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';
import { SYMMETRIC_PART, TRIANGLES } from './formulas.js';

/** Options of choleskyBackward. */
export interface CholeskyBackwardOptions extends BackwardOptions, TriangleOption {}

/** What cholesky left behind. */
export interface CholeskySaved<D extends LinalgDType, T = Tensor<D>> {
  readonly factor: T;
}

/** How {@link choleskyBackward} is called. */
export interface CholeskyBackward {
  <D extends LinalgDType>(
    gradient: TensorOperand<D>,
    saved: CholeskySaved<D, TensorOperand<NoInfer<D>>>,
    options?: CholeskyBackwardOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradient: Tensor<D>,
    saved: CholeskySaved<NoInfer<D>>,
    options?: CholeskyBackwardOptions,
  ) => Promise<
    PreparedGradients<[gradient: Tensor<D>, saved: CholeskySaved<NoInfer<D>>], readonly ['a'], D>
  >;
}

/**
 * Gradient of `cholesky(a)`: given `gradient` = dL/d(factor), returns dL/da. With P the lower triangle of `L^T gradient`, its
 * diagonal halved, da is the symmetric part of `L^-T P L^-1`; for the upper factor U the same with L = U^T (Giles 2008, section
 * 2.6; Murray 2016, "Differentiation of the Cholesky decomposition"). What `gradient` has in the triangle where the factor is
 * 0 is not looked at.
 *
 * da is symmetric: the derivative by an element of the triangle that the forward call read is da[i, i] on the diagonal and
 * 2 da[i, j] beside it. Jitter that the forward call added counts as constant.
 *
 * Shapes: gradient, factor and da (..., n, n). Matrices without a factor have NaN gradients.
 *
 * @param saved the factor; its triangle is `uplo`
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { cholesky, choleskyBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { factor } = await cholesky(await tensor([[4, 0], [0, 1]], { device: 'cpu' }));
 * const upstream = await tensor([[1, 0], [0, 1]], { device: 'cpu' });
 * const { a: da } = await choleskyBackward(upstream, { factor });
 * console.log(await da.toNested()); // [ [ 0.25, 0 ], [ 0, 0.5 ] ]
 * ```
 */
export const choleskyBackward = linalgFunction<CholeskyBackward, CholeskyBackwardOptions>(
  {
    what: 'choleskyBackward',
    options: { ...BACKWARD_OPTIONS, ...TRIANGLE_OPTION },
    read: ([gradient, { factor }]: readonly [Tensor, CholeskySaved<LinalgDType>]) => [
      { factor, gradient },
    ],
    others: ['gradient'],
    results: ['a'],
    plan: (call, { uplo }) => {
      const { what } = call;
      call.order();
      const given = call.tensor('factor');
      assertLike(what, 'gradient', call.tensor('gradient'), given.shape, given);
      const upper = choice(what, 'uplo', uplo, ['lower', 'upper']) === 'upper';
      const [l, g] = [call.view('factor'), call.view('gradient')].map((one) =>
        upper ? turned(one) : one,
      ) as [CallView, CallView];
      // the other triangle of the gradient would reach the products
      const clean = elementwise(call, TRIANGLES.lower, { x: g });
      const p = product(call, turned(l), clean);
      elementwise(call, TRIANGLES.halfLower, { x: p }, { into: p });
      const solve = { upper: false, transpose: true };
      const left = triangularSolution(call, l, p, solve);
      const x = triangularSolution(call, l, turned(left), solve);
      const into = call.result('a', given.shape);
      elementwise(call, SYMMETRIC_PART, { x, turned: turned(x) }, { into });
    },
  },
  2,
);
