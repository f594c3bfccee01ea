import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { choice, orderOf, settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { type TriangleOption, TRIANGLE_OPTION } from '../options.js';
import { solveTriangular } from '../solve-triangular.js';
import { assertLike } from './backward-checks.js';
import type { BackwardOptions, LinalgGradients } from './backward-options.js';
import { keepTriangle, symmetricPart } from './shape-gradient.js';
import { solutionOf } from './solve-cholesky-backward.js';

/** Options of choleskyBackward. */
export interface CholeskyBackwardOptions extends BackwardOptions, TriangleOption {}

const CHOLESKY_BACKWARD_OPTIONS: OptionNames<CholeskyBackwardOptions> = {
  ...WORK_OPTIONS,
  ...TRIANGLE_OPTION,
};

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
export async function choleskyBackward<D extends LinalgDType>(
  gradient: Tensor<D>,
  { factor }: { readonly factor: Tensor<NoInfer<D>> },
  options?: CholeskyBackwardOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'choleskyBackward';
  options = readOptions(what, options, CHOLESKY_BACKWARD_OPTIONS);
  const within = workOf(options);
  settingOf(what, { factor });
  orderOf(what, 'factor', factor);
  assertLike(what, 'gradient', gradient, factor.shape, factor);
  const upper = choice(what, 'uplo', options.uplo, ['lower', 'upper']) === 'upper';
  using l = upper ? factor.transpose() : factor.view();
  using g = upper ? gradient.transpose() : gradient.view();
  // the other triangle of the gradient would reach the products
  using clean = await g.clone(within);
  await keepTriangle(clean, 'lower', within);
  using p = await matmul(l, clean, { transposeA: true, ...within });
  await keepTriangle(p, 'halfLower', within);
  const solve = { uplo: 'lower', transpose: true, ...within } as const;
  using left = solutionOf(await solveTriangular(l, p, solve));
  const sides = { ...solve, rightHandSides: 'rows' } as const;
  using both = solutionOf(await solveTriangular(l, left, sides));
  return { a: await symmetricPart(both, within) };
}
