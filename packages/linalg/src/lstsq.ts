import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { EPSILON, settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { columnOperand, matrixOperand } from './operand.js';
import {
  type CallOptions,
  type Infos,
  type RightHandSidesOption,
  CALL_OPTIONS,
  SIDES_OPTION,
} from './options.js';
import { withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';
import { assertSides, rightHandSides, sideOperand } from './solve.js';

/** Options of lstsq. */
export interface LstsqOptions<D extends LinalgDType> extends CallOptions, RightHandSidesOption {
  /**
   * Singular values up to this share of the largest count as 0, from 0 up to 1. Default: max(m, n) eps of the dtype.
   */
  readonly tolerance?: number | undefined;
  /** Where the solutions go. */
  readonly out?: Tensor<D> | undefined;
}

const LSTSQ_OPTIONS: OptionNames<LstsqOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...SIDES_OPTION,
  tolerance: true,
  out: true,
};

/** Least squares solutions. */
export interface LeastSquares<D extends LinalgDType> extends Infos {
  /** (..., n, c), or (..., c, n) with right-hand sides in rows. */
  readonly x: Tensor<D>;
  /** How many singular values count; -1 where there is no solution. One for each batch entry. */
  readonly rank: Tensor<'int32'>;
  /** (..., min(m, n)), descending. */
  readonly singularValues: Tensor<D>;
}

/**
 * The x of least norm among those that minimise `|a x - b|`, for matrices of any shape and rank, by singular values:
 * LAPACK's gelsd.
 *
 * Shapes: a (..., m, n), b (..., m, c) with the right-hand sides in its columns and x (..., n, c), or with
 * `rightHandSides: 'rows'` b (..., c, m) and x (..., c, n). The leading batch axes broadcast. float32 or float64, any strides.
 *
 * infos: k > 0 where the iteration did not converge, -1 where a or b holds NaN or infinity; the results are NaN there.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU it follows from singular
 * values (cuSOLVER gesvd), and the promise resolves when those are there.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { lstsq } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const line = await tensor([[0, 1], [1, 1], [2, 1]], { device: 'cpu', dtype: 'float64' });
 * const y = await tensor([[1], [3], [5]], { device: 'cpu', dtype: 'float64' });
 * const { x } = await lstsq(line, y);
 * console.log((await x.toTypedArray()).map(Math.round)); // slope 2, intercept 1
 * ```
 */
export async function lstsq<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: LstsqOptions<NoInfer<D>>,
): Promise<LeastSquares<D>> {
  const what = 'lstsq';
  options = readOptions(what, options, LSTSQ_OPTIONS);
  const { stream, out } = options;
  const setting = settingOf(what, { a, b });
  const { batchShape, dtype } = setting;
  const [rows = 0, columns = 0] = a.shape.slice(-2);
  const side = rightHandSides(what, options);
  assertSides(what, rows, b, side);
  const tolerance = toleranceOf(options.tolerance ?? Math.max(rows, columns, 1) * EPSILON[dtype]);
  const sides = b.shape.at(side === 'rows' ? -2 : -1) ?? 1;
  return withOutputs(setting, stream, async (outputs) => {
    const x = outputs.given(out, side === 'rows' ? [sides, columns] : [columns, sides], [a, b]);
    const singularValues = outputs.matrix<D>(Math.min(rows, columns));
    const rank = outputs.integers();
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      b: sideOperand(b, batchShape, side),
      x: sideOperand(x, batchShape, side),
      singularValues: columnOperand(singularValues, batchShape),
      ranks: rank,
      infos,
      tolerance,
    };
    await runRoutine('lstsq', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'converged', options);
    return { x, rank, singularValues, infos };
  });
}

function toleranceOf(tolerance: number): number {
  if (tolerance >= 0 && tolerance < 1) return tolerance;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `lstsq: tolerance is ${tolerance}. It is a share of the largest singular value: pass a number from 0 up to 1.`,
  );
}
