import type { OptionNames } from '@mercer/options';
import { MercerError, type SignalOption, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  readOptions,
  SIGNAL_OPTION,
  unlessAborted,
} from '@mercer/tensor/operation';
import { unitOf } from '../checks.js';
import { SolverError } from '../solver-error.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkGain, checkLowRank, GAIN_OVER, inverseOfRoot } from './low-rank.js';
import { Pivots, type Look } from './pivots.js';

/** Options of {@link pivotedCholesky}. */
export interface PivotedCholeskyOptions extends SignalOption {
  /** Columns of the factor; fewer are taken where the rest of the operator is 0 to rounding. */
  readonly rank: number;
  /** The multiple of the identity that is added to the operator in the system that is solved; positive. */
  readonly shift: number;
  /**
   * `rank` is then the most: no more columns are taken when the last ten took less than this share of what was left of the operator's trace, which is
   * measured with each. The condition number is at most 1 + rest / shift, so a column that leaves the rest as it is gains nothing. Default 0: all columns.
   */
  readonly leastGain?: number | undefined;
}

const OPTIONS: OptionNames<PivotedCholeskyOptions> = {
  ...SIGNAL_OPTION,
  rank: true,
  shift: true,
  leastGain: true,
};

/**
 * The preconditioner of `operator + shift I` by a partial Cholesky factor L of the operator, with the largest remaining diagonal entry as the next
 * pivot (Harbrecht, Peters and Schneider 2012): the inverse of `L L^T + shift I` (Gardner et al. 2018). It costs `rank` rows of the operator. Pivots are chosen on the device, which a
 * GPU repeats by itself; the host waits for it after every ten, to see whether to go on.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { cg, pivotedCholesky } from '@mercer/solvers';
 * import { linspace, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = (await linspace(0, 1, 30, where)).reshape([30, 1]);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
 * using preconditioner = await pivotedCholesky(kernel, { rank: 5, shift: 0.1 });
 * const b = await linspace(1, 2, 30, where);
 * const { converged } = await cg(kernel.shift(0.1), b, { preconditioner });
 * console.log(converged); // true
 * ```
 *
 * @param operator symmetric positive semidefinite, with a diagonal; without the shift
 * @returns the preconditioner, which the caller disposes
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; UNSUPPORTED where the operator has no diagonal, or neither rows nor a transpose; the signal's reason
 */
export async function pivotedCholesky<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: PivotedCholeskyOptions,
): Promise<LinearOperator<D>> {
  const what = 'pivotedCholesky';
  assertNotPreparing(what);
  const given = readOptions(what, options, OPTIONS);
  const { rank, shift, leastGain = 0 } = given;
  checkLowRank(what, operator, rank, shift);
  checkGain(what, leastGain);
  using factor = await partialFactor(what, operator, { ...given, leastGain });
  using across = factor.transpose();
  using rows = await across.cast('float64');
  return await inverseOfRoot(operator, rows, shift);
}

/** Columns of a Cholesky factor of the operator, pivots first, (N, k). Pivots are chosen on the device; the host looks at them after every ten. */
async function partialFactor(
  what: string,
  operator: LinearOperator,
  { rank, leastGain, signal }: PivotedCholeskyOptions & { readonly leastGain: number },
): Promise<Tensor> {
  const unit = 2 * unitOf(operator.dtype);
  const looks: Look[] = [];
  signal?.throwIfAborted();
  using pivots = await Pivots.of(operator, rank);
  while (looks.length < rank) {
    signal?.throwIfAborted();
    const { seen } = await pivots.next(Math.min(GAIN_OVER, rank - looks.length));
    looks.push(...(await unlessAborted(seen, signal)));
    const used = usedColumns(what, looks, unit, leastGain);
    if (used === looks.length) continue;
    if (used === 0) throw notSemidefinite(what, looks[0]?.[0] ?? NaN);
    return await pivots.columns(used);
  }
  if (!Number.isFinite(await pivots.left())) throw notFinite(what);
  return await pivots.columns(rank);
}

/** How many of the columns are used: none after the rest is rounding, or the operator is not semidefinite, or the gain is too small. */
function usedColumns(
  what: string,
  looks: readonly Look[],
  unit: number,
  leastGain: number,
): number {
  const [first = NaN] = looks[0] ?? [];
  const end = looks.findIndex(([value, trace], k) => {
    const [, before = Infinity] = looks[k - GAIN_OVER] ?? [];
    return !(value > unit * first) || trace > (1 - leastGain) * before;
  });
  const [value, trace] = looks[end] ?? [0, 0];
  if (end > 0 && !(Number.isFinite(value) && Number.isFinite(trace))) throw notFinite(what);
  return end === -1 ? looks.length : end;
}

const notSemidefinite = (what: string, value: number): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the largest entry of the operator's diagonal is ${value}. A positive semidefinite operator other than 0 has a positive one.`,
  );

const notFinite = (what: string): SolverError =>
  new SolverError(
    'NOT_FINITE',
    `${what}: a row of the operator holds NaN or infinity. Look for the operation that made it.`,
  );
