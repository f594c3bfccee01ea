import { own, type OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { LinalgDType } from './checks.js';
import { floats } from './derivative-parts.js';
import type { RoutinePrepareOptions, TriangleOption } from './options.js';
import {
  solveFunction,
  type PreparedSolve,
  type Solution,
  type SolveOptions,
  SOLVE_OPTIONS,
} from './solve.js';
import { solveDerivative } from './solve-derivative.js';

/** How {@link solveLU} is called. */
export interface SolveLU {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    options?: SolveOptions<NoInfer<D>>,
  ): Promise<Solution<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: RoutinePrepareOptions<SolveOptions<NoInfer<D>>>,
  ) => Promise<PreparedSolve<D>>;
}

/**
 * The solutions x of `a x = b` for any square matrices a, by LU factors with row exchanges: LAPACK's getrf and getrs.
 *
 * Shapes: a (..., n, n), b (..., n, c) with the right-hand sides in its columns, or (..., c, n) with
 * `rightHandSides: 'rows'`; x has b's shape. The leading batch axes broadcast. float32 or float64, the same for both. Any
 * strides, none copied beforehand. `overwriteA` leaves U in a's upper triangle and L, without its ones, below, with rows
 * exchanged.
 *
 * infos: k > 0 where pivot k is exactly 0, -1 where a holds NaN or infinity; x is NaN there. On a GPU, float64 systems that
 * cuSOLVER solves one by one have factors of the transpose, whose pivots k counts then, unless `overwriteA` asks for those of
 * a. The relative residual |b - a x| / (|a| |x|) is at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry; a single large matrix has all threads. On
 * a GPU small systems are solved in one launch, larger ones by cuSOLVER and cuBLAS, batched or on several streams: nothing waits, and
 * it can be captured in a graph once a call of these shapes has run on the stream.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND;
 *   nothing is written then
 * @throws SingularMatrixError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { solveLU } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[0, 2], [1, 1]], { device: 'cpu' });
 * const b = await tensor([[4, 3]], { device: 'cpu' }); // one right-hand side, in a row
 * const { x } = await solveLU(a, b, { rightHandSides: 'rows' });
 * console.log(await x.toNested()); // [ [ 1, 2 ] ]
 * ```
 */
export const solveLU: SolveLU = solveFunction(
  {
    what: 'solveLU',
    routine: 'solveLU',
    refined: 'refinedLU',
    meaning: 'regular',
    derivative: solveDerivative<SolveOptions<LinalgDType>>({
      solveTransposed: async (a, b, options) =>
        solveLU(floats(a.transpose()), floats(b), own(options, 'rightHandSides', 'refine')),
      finish: (da) => da,
    }),
  },
  // There is no triangle to choose.
  SOLVE_OPTIONS as OptionNames<SolveOptions<LinalgDType> & TriangleOption>,
);
