import { own, type OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { LinalgDType } from './checks.js';
import { floats, symmetric } from './derivative-parts.js';
import { type RoutinePrepareOptions, type TriangleOption, TRIANGLE_OPTION } from './options.js';
import {
  solveFunction,
  type PreparedSolve,
  type Solution,
  type SolveOptions,
  SOLVE_OPTIONS,
} from './solve.js';
import { solveDerivative } from './solve-derivative.js';

/** Options of solveCholesky. */
export interface SolveCholeskyOptions<D extends LinalgDType>
  extends SolveOptions<D>, TriangleOption {}

const SOLVE_CHOLESKY_OPTIONS: OptionNames<SolveCholeskyOptions<LinalgDType>> = {
  ...SOLVE_OPTIONS,
  ...TRIANGLE_OPTION,
};

/** How {@link solveCholesky} is called. */
export interface SolveCholesky {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    options?: SolveCholeskyOptions<NoInfer<D>>,
  ): Promise<Solution<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: RoutinePrepareOptions<SolveCholeskyOptions<NoInfer<D>>>,
  ) => Promise<PreparedSolve<D>>;
}

/**
 * The solutions x of `a x = b` for symmetric positive definite matrices a, by Cholesky factors: LAPACK's potrf and potrs.
 *
 * Shapes: a (..., n, n), b (..., n, c) with the right-hand sides in its columns, or (..., c, n) with
 * `rightHandSides: 'rows'`; x has b's shape. The leading batch axes broadcast. float32 or float64, the same for both. Any
 * strides, none copied beforehand. Of a only the triangle `uplo` is read; `overwriteA` leaves the factor in that triangle and
 * zeros in the other.
 *
 * infos: k > 0 where the leading minor of order k is not positive, -1 where that triangle holds NaN or infinity; x is NaN
 * there. The relative residual |b - a x| / (|a| |x|) is at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry; a single large matrix has all threads. On
 * a GPU small systems are solved in one launch, larger ones by cuSOLVER and cuBLAS, batched or on several streams: nothing waits, and
 * it can be captured in a graph once a call of these shapes has run on the stream.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND;
 *   nothing is written then
 * @throws NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { solveCholesky } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[4, 2], [2, 3]], { device: 'cpu' });
 * const b = await tensor([[10], [9]], { device: 'cpu' });
 * const { x } = await solveCholesky(a, b);
 * console.log(await x.toNested()); // [ [ 1.5 ], [ 2 ] ]
 * ```
 */
export const solveCholesky: SolveCholesky = solveFunction(
  {
    what: 'solveCholesky',
    routine: 'solveCholesky',
    refined: 'refinedCholesky',
    meaning: 'definite',
    derivative: solveDerivative<SolveCholeskyOptions<LinalgDType>>({
      solveTransposed: async (a, b, options) =>
        solveCholesky(floats(a), floats(b), own(options, 'uplo', 'rightHandSides', 'refine')),
      finish: symmetric,
    }),
  },
  SOLVE_CHOLESKY_OPTIONS,
);
