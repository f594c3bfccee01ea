import { own, type OptionNames } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import { choice, flag, type LinalgDType } from './checks.js';
import { floats } from './derivative-parts.js';
import { linalgFunction } from './linalg-operation.js';
import {
  type RoutinePrepareOptions,
  type TriangleOption,
  CALL_OPTIONS,
  SIDES_OPTION,
  TRIANGLE_OPTION,
} from './options.js';
import { rightHandSides, type PreparedSolve, type Solution, type SolveOptions } from './solve.js';
import { solveDerivative } from './solve-derivative.js';

/** Options of solveTriangular. */
export interface SolveTriangularOptions<D extends LinalgDType>
  extends Omit<SolveOptions<D>, 'overwriteA' | 'refine'>, TriangleOption {
  /** Solve with the transposed matrix; default false. */
  readonly transpose?: boolean | undefined;
  /** Take the diagonal for ones and do not read it; default false. On a GPU it must be finite all the same. */
  readonly unitDiagonal?: boolean | undefined;
}

const SOLVE_TRIANGULAR_OPTIONS: OptionNames<SolveTriangularOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...SIDES_OPTION,
  ...TRIANGLE_OPTION,
  out: true,
  overwriteB: true,
  transpose: true,
  unitDiagonal: true,
};

/** How {@link solveTriangular} is called. */
export interface SolveTriangular {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    options?: SolveTriangularOptions<NoInfer<D>>,
  ): Promise<Solution<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: RoutinePrepareOptions<SolveTriangularOptions<NoInfer<D>>>,
  ) => Promise<PreparedSolve<D>>;
}

/**
 * The solutions x of `a x = b`, or `a^T x = b`, for triangular matrices, SciPy's `solve_triangular`: LAPACK's trtrs.
 *
 * Shapes: a (..., n, n), b (..., n, c) with the right-hand sides in its columns, or (..., c, n) with
 * `rightHandSides: 'rows'`; x has b's shape. The leading batch axes broadcast. float32 or float64, any strides. Only the
 * triangle `uplo` is read.
 *
 * infos: k > 0 where diagonal element k is exactly 0, -1 where the triangle holds NaN or infinity; x is NaN there.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuBLAS solves on several
 * streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { solveTriangular } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const l = await tensor([[2, 0], [1, 3]], { device: 'cpu' });
 * const b = await tensor([[4], [5]], { device: 'cpu' });
 * console.log(await (await solveTriangular(l, b)).x.toNested()); // [ [ 2 ], [ 1 ] ]
 * ```
 */
export const solveTriangular: SolveTriangular = linalgFunction<
  SolveTriangular,
  SolveTriangularOptions<LinalgDType>
>(
  {
    what: 'solveTriangular',
    matrices: ['a', 'b'],
    options: SOLVE_TRIANGULAR_OPTIONS,
    results: ['x', 'infos'],
    overwrites: [['overwriteB', 'b', 'x']],
    meaning: () => 'regular',
    derivative: solveDerivative<SolveTriangularOptions<LinalgDType>>({
      solveTransposed: async (a, b, options) =>
        solveTriangular(floats(a), floats(b), {
          ...own(options, 'uplo', 'unitDiagonal', 'rightHandSides'),
          transpose: options.transpose !== true,
        }),
      isTransposed: ({ transpose = false }) => transpose,
      finish: (da, { uplo, unitDiagonal }) => {
        const beside = unitDiagonal === true ? 1 : 0;
        return uplo === 'upper' ? da.triu(beside) : da.tril(-beside);
      },
    }),
    plan: (call, options) => {
      const { uplo, transpose, unitDiagonal } = options;
      const upper = choice(call.what, 'uplo', uplo, ['lower', 'upper']) === 'upper';
      const sides = rightHandSides(call, options);
      call.run('triangularSolve', {
        ...sides.operands,
        x: sides.solutions('x', sides.operands.a.rows),
        infos: call.integers('infos'),
        upper: Number(upper),
        transpose: Number(flag(call.what, 'transpose', transpose)),
        unitDiagonal: Number(flag(call.what, 'unitDiagonal', unitDiagonal)),
      });
    },
  },
  2,
);
