import { cholesky, qr, solveTriangular, svd } from '@mercer/linalg';
import type { OptionNames } from '@mercer/options';
import { random, type SignalOption, type Tensor } from '@mercer/tensor';
import { readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { checkKey } from '../checks.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkLowRank, damped, kept, times } from './low-rank.js';

type Numbers = Tensor<'float64'>;

/** Options of {@link nystrom}. */
export interface NystromOptions extends SignalOption {
  /** Columns of the sketch. About twice the effective dimension of the operator at this shift makes the condition number small. */
  readonly rank: number;
  /** The multiple of the identity that is added to the operator in the system that is solved; positive. */
  readonly shift: number;
  /** Of the random vectors. */
  readonly key: random.RandomKey;
}

const OPTIONS: OptionNames<NystromOptions> = {
  ...SIGNAL_OPTION,
  rank: true,
  shift: true,
  key: true,
};

/**
 * The randomised Nyström preconditioner of `operator + shift I` (Frangella, Tropp and Udell 2023, algorithms 2.1 and 5.1): from one product with
 * `rank` random vectors come eigenvectors U and eigenvalues w of an approximation of the operator, and
 * `(w_k + shift) U (w + shift)^-1 U^T + (I - U U^T)` is applied, with the least eigenvalue w_k.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { cg, nystrom } from '@mercer/solvers';
 * import { linspace, random } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = (await linspace(0, 1, 30, where)).reshape([30, 1]);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
 * using preconditioner = await nystrom(kernel, { rank: 5, shift: 0.1, key: random.key(1) });
 * const b = await linspace(1, 2, 30, where);
 * const { converged } = await cg(kernel.shift(0.1), b, { preconditioner });
 * console.log(converged); // true
 * ```
 *
 * @param operator symmetric positive semidefinite; without the shift
 * @returns the preconditioner, which the caller disposes
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; LinalgError where the sketch has no factors, as of an operator that is not semidefinite; the signal's reason
 */
export async function nystrom<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: NystromOptions,
): Promise<LinearOperator<D>> {
  const what = 'nystrom';
  const { rank, shift, key, signal } = readOptions(what, options, OPTIONS);
  checkLowRank(what, operator, rank, shift);
  checkKey(what, key);
  signal?.throwIfAborted();
  const { vectors, values } = await sketch(operator, rank, key);
  using column = values;
  return await damped(operator, vectors, column, { shift, power: 1 });
}

/** Eigenvectors (N, rank) and eigenvalues (rank, 1), descending, of the Nyström approximation. */
async function sketch(
  operator: LinearOperator,
  rank: number,
  key: random.RandomKey,
): Promise<{ readonly vectors: Tensor; readonly values: Tensor }> {
  const { shape, dtype, device } = operator;
  using drawn = await random.normal([shape[0], rank], { key, dtype, device });
  using omega = kept(await qr(drawn as unknown as Numbers), 'q');
  using plain = await operator.matvec(omega);
  using norm = await plain.norm();
  // so that rounding leaves the small matrix positive definite
  using nu = await norm.mul(dtype === 'float64' ? 2 ** -52 : 2 ** -23);
  using y: Tensor = await plain.add(omega.mul(nu));
  using small = (await times(omega, y, { transposeA: true })) as Numbers;
  using upper = kept(await cholesky(small, { checkErrors: true, uplo: 'upper' }), 'factor');
  using turned = y.transpose() as Numbers;
  // B^T = C^-T Y^T for the upper factor C of it
  using root = kept(await solveTriangular(upper, turned, { uplo: 'upper', transpose: true }), 'x');
  using b = root.transpose();
  const { u, ...others } = await svd(b);
  using singular = kept(others, 's');
  using column = singular.reshape([rank, 1]);
  try {
    return { vectors: u, values: await column.square().sub(nu).maximum(0) };
  } catch (error) {
    u.dispose();
    throw error;
  }
}
