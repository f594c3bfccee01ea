import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { choice, orderOf, settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { matrixOperand } from './operand.js';
import { type TriangleOption, CALL_OPTIONS, SIDES_OPTION, TRIANGLE_OPTION } from './options.js';
import { assertOverwritable, withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';
import {
  assertSides,
  rightHandSides,
  sideOperand,
  type Solution,
  type SolveOptions,
} from './solve.js';

/** Options of solveTriangular. */
export interface SolveTriangularOptions<D extends LinalgDType>
  extends Omit<SolveOptions<D>, 'overwriteA' | 'refine'>, TriangleOption {
  /** Solve with the transposed matrix; default false. */
  readonly transpose?: boolean | undefined;
  /** Take the diagonal for ones and do not read it; default false. */
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
export async function solveTriangular<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: SolveTriangularOptions<NoInfer<D>>,
): Promise<Solution<D>> {
  const what = 'solveTriangular';
  options = readOptions(what, options, SOLVE_TRIANGULAR_OPTIONS);
  const { stream, out, overwriteB = false, transpose = false, unitDiagonal = false } = options;
  const setting = settingOf(what, { a, b });
  const { batchShape } = setting;
  const upper = choice(what, 'uplo', options.uplo, ['lower', 'upper']) === 'upper';
  const side = rightHandSides(what, options);
  assertSides(what, orderOf(what, 'a', a), b, side);
  if (overwriteB && out !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: both out and overwriteB are given. Choose one place for the solution.`,
    );
  }
  if (overwriteB) assertOverwritable(setting, 'b', b, [a]);
  return withOutputs(setting, stream, async (outputs) => {
    const x = overwriteB ? outputs.alias(b) : outputs.given(out, b.shape.slice(-2), [a, b]);
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      b: sideOperand(b, batchShape, side),
      x: sideOperand(x, batchShape, side),
      infos,
      upper: Number(upper),
      transpose: Number(transpose),
      unitDiagonal: Number(unitDiagonal),
    };
    await runRoutine('triangularSolve', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'regular', options);
    return { x, infos };
  });
}
