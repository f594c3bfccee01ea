import { eigh } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import { gatherRows, MercerError, random, type SignalOption, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { checkCount, checkKey } from '../checks.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkLowRank, damped, leftSingular, times } from './low-rank.js';

/** Options of {@link eigenPro}. */
export interface EigenProOptions extends SignalOption {
  /** Eigenvectors that are damped; fewer where the sample has no more. */
  readonly rank: number;
  /** Rows of the operator that they are found in: from `rank` up to all. Default: ten times `rank`, or all. */
  readonly sample?: number | undefined;
  /** The multiple of the identity that is added to the operator in the system that is solved; positive. */
  readonly shift: number;
  /** Of the choice of rows. */
  readonly key: random.RandomKey;
  /** Above 0 and at most 1: how far the eigenvalues are brought down to the least of them; default 0.95, as in EigenPro 2. */
  readonly power?: number | undefined;
}

const OPTIONS: OptionNames<EigenProOptions> = {
  ...SIGNAL_OPTION,
  rank: true,
  sample: true,
  shift: true,
  key: true,
  power: true,
};

/**
 * EigenPro's preconditioner (Ma and Belkin 2017, 2019) of `operator + shift I`: its top eigenvectors U and eigenvalues w, taken from a sample of its rows by Nyström
 * extension, are damped to the least of them, `U ((w_q + shift) / (w + shift))^power U^T + (I - U U^T)`. It costs `sample` rows of the operator, not a
 * product. The eigenvectors are made orthonormal, so that it is symmetric, as `cg` needs it. In Richardson's iteration
 * `x += step P (b - A x)` it allows steps of about 1 / (w_q + shift) in place of 1 / (w_1 + shift).
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { cg, eigenPro } from '@mercer/solvers';
 * import { linspace, random } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = (await linspace(0, 1, 60, where)).reshape([60, 1]);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
 * using preconditioner = await eigenPro(kernel, { rank: 4, sample: 20, shift: 0.1, key: random.key(1) });
 * const { converged } = await cg(kernel.shift(0.1), await linspace(1, 2, 60, where), { preconditioner });
 * console.log(converged); // true
 * ```
 *
 * @param operator symmetric positive semidefinite; without the shift
 * @returns the preconditioner, which the caller disposes
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; UNSUPPORTED where the operator has neither rows nor a transpose; the signal's reason
 */
export async function eigenPro<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: EigenProOptions,
): Promise<LinearOperator<D>> {
  const what = 'eigenPro';
  assertNotPreparing(what);
  const { rank, shift, key, signal, power = 0.95, ...given } = readOptions(what, options, OPTIONS);
  checkLowRank(what, operator, rank, shift);
  const [n] = operator.shape;
  const { sample = Math.min(n, 10 * rank) } = given;
  checkCount(what, 'sample', sample, [rank, n], ': the rank, and the number of rows');
  checkKey(what, key);
  checkPower(what, power);
  signal?.throwIfAborted();
  using chosen = await random.choice(n, [sample], { key, replace: false, device: operator.device });
  using rows = await operator.rows(chosen);
  using columns = rows.transpose();
  signal?.throwIfAborted();
  using weights = await extension(what, columns, chosen, rank);
  // columns . weights has the products of the approximation's eigenvectors with the roots of its eigenvalues
  using root = await times(columns, weights);
  const { vectors, squares } = await leftSingular(root);
  using values = squares;
  return await damped(operator, vectors, values, { shift, power });
}

/** E w^-1/2 of the greatest eigenvalues w and eigenvectors E of the sample's matrix, (sample, at most rank). */
async function extension(
  what: string,
  columns: Tensor,
  chosen: Tensor<'int32'>,
  rank: number,
): Promise<Tensor> {
  using block = await gatherRows(columns, chosen);
  using matrix = await block.cast<'float64'>('float64');
  const { values, vectors, infos } = await eigh(matrix);
  using _infos = infos;
  using ascending = values;
  using basis = vectors;
  const [size = 0] = values.shape;
  const numbers = await ascending.toTypedArray();
  const most = numbers.at(-1) ?? NaN;
  if (!(most > 0)) throw notSemidefinite(what, most);
  // equal rows, and what rounding leaves of a low rank
  const unit = columns.dtype === 'float64' ? 2 ** -52 : 2 ** -23;
  const count = numbers.slice(size - rank).filter((value) => value > size * unit * most).length;
  using top = basis.slice(null, [size - count, size]);
  using w = ascending.slice([size - count, size]);
  using weighed = (await top.div(w.sqrt())) as Tensor;
  return await weighed.cast(columns.dtype);
}

/** @throws MercerError INVALID_ARGUMENT */
function checkPower(what: string, power: number): void {
  if (typeof power === 'number' && power > 0 && power <= 1) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: power is ${describeValue(power)}. Pass a number above 0 and at most 1.`,
  );
}

const notSemidefinite = (what: string, value: number): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the largest eigenvalue of a sample of the operator's rows is ${value}. A positive semidefinite operator other than 0 has a positive one.`,
  );
