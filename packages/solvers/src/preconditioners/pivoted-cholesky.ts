import type { OptionNames } from '@mercer/options';
import {
  concat,
  gatherRows,
  MercerError,
  stack,
  type Pending,
  type SignalOption,
  type Tensor,
} from '@mercer/tensor';
import { readOptions, SIGNAL_OPTION, unlessAborted } from '@mercer/tensor/operation';
import { unitOf } from '../checks.js';
import { keeping } from '../krylov/columns.js';
import { SolverError } from '../solver-error.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import {
  besideIdentity,
  checkGain,
  checkLowRank,
  GAIN_OVER,
  leftSingular,
  times,
} from './low-rank.js';

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
 * pivot (Harbrecht, Peters and Schneider 2012): the inverse of `L L^T + shift I` (Gardner et al. 2018), applied by the
 * singular vectors U and values s of L as `(v - U (s^2 / (s^2 + shift)) U^T v) / shift`. It costs `rank` rows of the operator. Pivots are chosen on the device; the host
 * waits for it after every ten, to see whether to go on.
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
  using factor = await partialFactor(what, operator, { ...given, leastGain });
  const { vectors, squares: values } = await leftSingular(factor);
  using squares = values;
  return await keeping({ vectors }, async () => {
    const weights = await squares.neg().div(squares.add(shift));
    return besideIdentity(operator, vectors, weights as Tensor, 1 / shift);
  });
}

/** Columns of a Cholesky factor of the operator, pivots first, (N, k). Pivots are chosen on the device; the host looks at them after every ten. */
async function partialFactor(
  what: string,
  operator: LinearOperator,
  { rank, leastGain, signal }: PivotedCholeskyOptions & { readonly leastGain: number },
): Promise<Tensor> {
  const unit = 2 * unitOf(operator.dtype);
  /** What is left of the diagonal before each column, the largest entry and the sum: read so far, and to be read. */
  const looks: (readonly [value: number, trace: number])[] = [];
  let factor: Tensor | undefined;
  let rest: Tensor = await operator.diagonal();
  try {
    for (let count = 0; count < rank;) {
      signal?.throwIfAborted();
      const size = Math.min(GAIN_OVER, rank - count);
      const { whole, left, seen } = await nextColumns(operator, factor, rest, size);
      for (const one of [factor, rest]) one?.dispose();
      [factor, rest] = [whole, left];
      count += size;
      looks.push(...(await unlessAborted(seen, signal)));
      const used = usedColumns(what, looks, unit, leastGain);
      if (used === count) continue;
      if (used === 0) throw notSemidefinite(what, looks[0]?.[0] ?? NaN);
      using first = factor.slice(null, [0, used]);
      return await first.clone();
    }
    const { [0]: last } = await looksOf([await look(rest)]);
    if (!Number.isFinite(last?.[1])) throw notFinite(what);
    const found = factor as Tensor;
    factor = undefined;
    return found;
  } finally {
    for (const one of [factor, rest]) one?.dispose();
  }
}

/** How many of the columns are used: none after the rest is rounding, or the operator is not semidefinite, or the gain is too small. */
function usedColumns(
  what: string,
  looks: readonly (readonly [value: number, trace: number])[],
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

/** A factor with some columns more, and what is left of the diagonal. Nothing of it waits for the device but `seen`. */
async function nextColumns(
  operator: LinearOperator,
  factor: Tensor | undefined,
  diagonal: Tensor,
  size: number,
): Promise<{
  readonly whole: Tensor;
  readonly left: Tensor;
  readonly seen: Promise<readonly (readonly [number, number])[]>;
}> {
  const [n] = operator.shape;
  const columns: Tensor[] = [];
  const looks: Tensor[] = [];
  let rest = diagonal;
  try {
    while (columns.length < size) {
      const looked = await look(rest);
      looks.push(looked);
      using place = await rest.argMax();
      using at = place.reshape([1]) as Tensor<'int32'>;
      using value = looked.slice(0);
      using row = await operator.rows(at);
      using across = row.reshape([n, 1]);
      const recent = columns.length === 0 ? undefined : await concat(together(columns), 1);
      using block = recent;
      using known = await knownOf(factor, at);
      using more = await knownOf(block, at);
      const parts = [known, more].filter((one) => one !== undefined);
      const others = parts.reduce<Tensor | Pending<Tensor>>((x, one) => x.sub(one), across);
      const column: Tensor = await others.div(value.sqrt());
      columns.push(column);
      using flat = column.reshape([n]);
      const less: Tensor = await rest.sub(flat.square());
      if (rest !== diagonal) rest.dispose();
      rest = less;
    }
    const whole = await concat(together(factor === undefined ? columns : [factor, ...columns]), 1);
    return { whole, left: rest, seen: looksOf(looks) };
  } catch (error) {
    for (const one of looks) one.dispose();
    if (rest !== diagonal) rest.dispose();
    throw error;
  } finally {
    for (const one of columns) one.dispose();
  }
}

/** What columns of a factor have of a row of the operator, (N, 1). */
async function knownOf(
  columns: Tensor | undefined,
  at: Tensor<'int32'>,
): Promise<Tensor | undefined> {
  if (columns === undefined) return undefined;
  using own = await gatherRows(columns, at);
  return await times(columns, own, { transposeB: true });
}

const together = (all: readonly Tensor[]) => all as unknown as readonly [Tensor, ...Tensor[]];

/** The largest element of what remains of the diagonal, and the sum of all, (2). */
async function look(rest: Tensor): Promise<Tensor> {
  using most = await rest.max();
  using sum = await rest.sum();
  return await stack([most, sum]);
}

/** @param looks are disposed */
async function looksOf(
  looks: readonly Tensor[],
): Promise<readonly (readonly [value: number, trace: number])[]> {
  try {
    using all = (await stack(together(looks))) as Tensor;
    return await all.toNested<(readonly [number, number])[]>();
  } finally {
    for (const one of looks) one.dispose();
  }
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
