import { qr, svd } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, stack, type SignalOption, type Tensor } from '@mercer/tensor';
import { readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { besideIdentity, checkLowRank, kept, times } from './low-rank.js';

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

/** Columns whose gain is looked at together: the trace falls unevenly. */
const GAIN_OVER = 10;

/**
 * The preconditioner of `operator + shift I` by a partial Cholesky factor L of the operator, with the largest remaining diagonal entry as the next
 * pivot (Harbrecht, Peters and Schneider 2012): the inverse of `L L^T + shift I` (Gardner et al. 2018), applied by the
 * singular vectors U and values s of L as `(v - U (s^2 / (s^2 + shift)) U^T v) / shift`. It costs `rank` rows of the operator, and waits for the device once for each.
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
  const given = readOptions(what, options, OPTIONS);
  const { rank, shift, leastGain = 0 } = given;
  checkLowRank(what, operator, rank, shift);
  checkGain(what, leastGain);
  using factor = (await partialFactor(operator, { ...given, leastGain })) as Tensor<'float64'>;
  // L = Q R, R = W diag(s) Z^T
  const { q, ...others } = await qr(factor);
  using basis = q;
  using triangle = kept(others, 'r');
  const { u, ...rest } = await svd(triangle);
  using turn = u;
  using singular = kept(rest, 's');
  using column = singular.reshape([-1, 1]);
  using squares: Tensor = await column.square();
  const vectors = await times(basis, turn);
  try {
    return besideIdentity(
      operator,
      vectors,
      await squares.neg().div(squares.add(shift)),
      1 / shift,
    );
  } catch (error) {
    vectors.dispose();
    throw error;
  }
}

/** Columns of a Cholesky factor of the operator, pivots first, (N, k). */
async function partialFactor(
  operator: LinearOperator,
  { rank, leastGain, signal }: PivotedCholeskyOptions & { readonly leastGain: number },
): Promise<Tensor> {
  const columns: Tensor[] = [];
  /** What was left of the trace before each column. */
  const traces: number[] = [];
  const unit = operator.dtype === 'float64' ? 2 ** -52 : 2 ** -23;
  let rest: Tensor = await operator.diagonal();
  let first = 0;
  try {
    while (columns.length < rank) {
      signal?.throwIfAborted();
      const { place, value, trace } = await look(rest);
      if (columns.length === 0) first = value;
      // the rest is rounding, or the operator is not semidefinite
      if (!(value > unit * first)) break;
      const before = traces[traces.length - GAIN_OVER] ?? Infinity;
      if (trace > (1 - leastGain) * before) break;
      traces.push(trace);
      const column = await nextColumn(operator, columns, place, Math.sqrt(value));
      columns.push(column);
      const less = (await rest.sub(column.square())) as Tensor;
      rest.dispose();
      rest = less;
    }
    if (columns.length === 0) throw notSemidefinite(first);
    return await stack(columns as unknown as readonly [Tensor, ...Tensor[]], 1);
  } finally {
    for (const one of columns) one.dispose();
    rest.dispose();
  }
}

/** The largest element of what remains of the diagonal, and the sum of all. */
async function look(
  rest: Tensor,
): Promise<{ readonly place: number; readonly value: number; readonly trace: number }> {
  using at = await rest.argMax();
  using most = await rest.max();
  using sum = await rest.sum();
  const [place = 0, value = NaN, trace = NaN] = (
    await Promise.all([at.item(), most.item(), sum.item()])
  ).map(Number);
  return { place, value, trace };
}

/** The column of the factor at a pivot: its row of the operator, less what the columns before have of it. */
async function nextColumn(
  operator: LinearOperator,
  columns: readonly Tensor[],
  pivot: number,
  root: number,
): Promise<Tensor> {
  const [n] = operator.shape;
  using row = await operator.rows([pivot]);
  using flat = row.reshape([n]);
  if (columns.length === 0) return await flat.div(root);
  using before = (await stack(columns as unknown as readonly [Tensor, ...Tensor[]], 1)) as Tensor;
  using own = before.slice([pivot, pivot + 1]);
  using known = await times(before, own, { transposeB: true });
  using column = known.reshape([n]);
  return await flat.sub(column).div(root);
}

/** @throws MercerError INVALID_ARGUMENT */
function checkGain(what: string, leastGain: number): void {
  if (typeof leastGain === 'number' && leastGain >= 0 && leastGain < 1) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: leastGain is ${describeValue(leastGain)}. Pass a number from 0 on and below 1.`,
  );
}

const notSemidefinite = (value: number): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `pivotedCholesky: the largest entry of the operator's diagonal is ${value}. A positive semidefinite operator other than 0 has a positive one.`,
  );
