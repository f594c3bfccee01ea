import type { Tensor, TensorOperand } from '@mercer/tensor';
import { choice, type LinalgDType } from '../checks.js';
import { solution, triangularSolution } from '../compose.js';
import { TRIANGLE_OPTION, type TriangleOption } from '../options.js';
import type { LinalgGradients, PreparedGradients } from './backward-options.js';
import { SYMMETRIC_PART } from './formulas.js';
import {
  solveBackward,
  type SolveBackwardOptions,
  type SolveInputs,
  type SolveSaved,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';

/** What solveCholesky left behind: a, or instead of it the factor that cholesky or `overwriteA` gives. */
export type SolveCholeskySaved<D extends LinalgDType, T = Tensor<D>> = Omit<SolveSaved<D, T>, 'a'> &
  ({ readonly a: T; readonly factor?: undefined } | { readonly factor: T; readonly a?: undefined });

/** Options of solveCholeskyBackward. */
export interface SolveCholeskyBackwardOptions<W extends SolveInputs>
  extends SolveBackwardOptions<W>, TriangleOption {}

/** How {@link solveCholeskyBackward} is called. */
export interface SolveCholeskyBackward {
  <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: TensorOperand<D>,
    saved: SolveCholeskySaved<D, TensorOperand<NoInfer<D>>>,
    options?: SolveCholeskyBackwardOptions<W>,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: Tensor<D>,
    saved: SolveCholeskySaved<NoInfer<D>>,
    options?: SolveCholeskyBackwardOptions<W>,
  ) => Promise<
    PreparedGradients<[gradient: Tensor<D>, saved: SolveCholeskySaved<NoInfer<D>>], W, D>
  >;
}

/**
 * Gradients of `solveCholesky(a, b)`: given `gradient` = dL/dx, returns dL/da and dL/db. With `a y = gradient`, db is y and
 * da is `-(y x^T + x y^T) / 2` (Giles 2008, "Collected matrix derivative results for forward and reverse mode algorithmic
 * differentiation", section 2.3.1).
 *
 * da is symmetric: `dL = sum_ij da[i, j] d a[i, j]` for symmetric changes of a. The derivative by an element of the triangle
 * `uplo` that the forward call read is therefore da[i, i] on the diagonal and 2 da[i, j] beside it.
 *
 * Shapes: gradient and x (..., n, c), or (..., c, n) with `rightHandSides: 'rows'`; da has a's shape and db has b's: over axes
 * that were broadcast they are summed. All of one dtype and device. Matrices without a solution have NaN gradients.
 *
 * @param saved a and x of the forward call, b where it was broadcast; with `factor` instead of a (the factor's triangle is
 *   `uplo`) nothing is factored again
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { solveCholesky, solveCholeskyBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[4, 0], [0, 2]], { device: 'cpu' });
 * const b = await tensor([[8], [6]], { device: 'cpu' });
 * const { x } = await solveCholesky(a, b);
 * const upstream = await tensor([[1], [1]], { device: 'cpu' });
 * const { b: db } = await solveCholeskyBackward(upstream, { a, x });
 * console.log(await db.toNested()); // [ [ 0.25 ], [ 0.5 ] ]
 * ```
 */
export const solveCholeskyBackward = solveBackward<
  SolveCholeskyBackward,
  SolveCholeskyBackwardOptions<SolveInputs>
>({
  what: 'solveCholeskyBackward',
  options: { ...SOLVE_BACKWARD_OPTIONS, ...TRIANGLE_OPTION },
  solveTransposed: (call, a, sides, { uplo, into }) => {
    const upper = choice(call.what, 'uplo', uplo, ['lower', 'upper']) === 'upper';
    if (!call.has('factor')) return solution(call, 'solveCholesky', a, sides, { upper, into });
    // a = L L^T = U^T U: the factor that comes first is L, or U^T
    const half = triangularSolution(call, a, sides, { upper, transpose: upper });
    return triangularSolution(call, a, half, { upper, transpose: !upper, into });
  },
  finish: () => SYMMETRIC_PART,
});
