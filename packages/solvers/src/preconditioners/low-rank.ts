import { cholesky, LinalgError, matmul, qr, svd } from '@mercer/linalg';
import { describeValue } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { checkCount } from '../checks.js';
import { keeping } from '../krylov/columns.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import { assertOperator, assertSquare } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { PoweredOperator } from './powered-operator.js';

type Numbers = Tensor<'float64'>;

/** A product whichever of the two dtypes it is in. */
export const times = (
  a: Tensor,
  b: Tensor,
  options: { readonly transposeA?: boolean; readonly transposeB?: boolean } = {},
): Promise<Tensor> => matmul(a as Numbers, b as Numbers, options);

/** One result of several; the others are disposed. */
export function kept<R extends Readonly<Record<K, Tensor>>, K extends string>(
  results: R,
  name: K,
): R[K] {
  for (const [other, one] of Object.entries<Tensor>(results)) if (other !== name) one.dispose();
  return results[name];
}

/** The upper Cholesky factor of a small matrix, whose failure is the caller's. @throws LinalgError */
export async function choleskyOf(what: string, name: string, matrix: Tensor): Promise<Numbers> {
  try {
    return kept(await cholesky(matrix as Numbers, { checkErrors: true, uplo: 'upper' }), 'factor');
  } catch (error) {
    if (!(error instanceof LinalgError)) throw error;
    const { code } = error;
    throw new LinalgError(
      code,
      code === 'NOT_FINITE'
        ? `${what}: ${name} holds NaN or infinity. Look for the operation of the operator that made it.`
        : `${what}: ${name} is not positive definite, so the operator is not positive semidefinite, or not to the rounding of its dtype. Pass one that is, or compute in float64.`,
      [],
    );
  }
}

/**
 * The left singular vectors (N, k) of a tall matrix, and the squares (k, 1) of its singular values, descending, in float64: by its triangular factor, which is small.
 * They are orthonormal to the rounding of float64 whatever the matrix is.
 */
export async function leftSingular(
  tall: Tensor,
): Promise<{ readonly vectors: Tensor; readonly squares: Tensor }> {
  using wide = await tall.cast('float64');
  // Q R, R = W diag(s) Z^T
  const { q, ...others } = await qr(wide);
  using basis = q;
  using triangle = kept(others, 'r');
  const { u, ...rest } = await svd(triangle);
  using turn = u;
  using singular = kept(rest, 's');
  using column = singular.reshape([singular.size, 1]);
  const vectors = await times(basis, turn);
  return await keeping({ vectors }, async () => ({
    vectors,
    squares: (await column.square()) as Tensor,
  }));
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkGain(what: string, leastGain: number): void {
  if (typeof leastGain === 'number' && leastGain >= 0 && leastGain < 1) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: leastGain is ${describeValue(leastGain)}. Pass a number from 0 on and below 1.`,
  );
}

/** Columns whose gain is looked at together: the trace falls unevenly. */
export const GAIN_OVER = 10;

/**
 * The preconditioner `scale (v + basis (weights basis^T v))`, of rank k beside the identity, with its powers
 * `scale^t (v + basis (((1 + weights)^t - 1) basis^T v))`. It computes in float64 whatever the operator's dtype is: where eigenvalues of the operator are far above the shift,
 * weights are all but -1, and what float32 leaves of such a direction is rounding.
 *
 * @param basis (N, k), float64, orthonormal columns; owned from here on
 * @param weights (k, 1), float64, above -1; likewise
 */
export function besideIdentity<D extends OperatorDType>(
  of: LinearOperator<D>,
  basis: Tensor,
  weights: Tensor,
  scale: number,
): PoweredOperator<D> {
  const { shape, dtype, device } = of;
  const matvec = async (v: Tensor, [q, w]: readonly Tensor[]): Promise<Tensor> => {
    using wide = await v.cast('float64');
    using along = await times(q as Tensor, wide, { transposeA: true });
    using weighed = await along.mul(w as Tensor);
    using low = await times(q as Tensor, weighed);
    using sum: Tensor = await low.add(wide).mul(scale);
    return await sum.cast(dtype);
  };
  return new PoweredOperator<D>(
    {
      form: { shape, dtype, device, isCapturable: true },
      parameters: [basis, weights],
      owned: [basis, weights],
      rules: { matvec, rmatvec: matvec, diagonal: undefined },
    },
    {
      power: async (exponent, [q, w]) => {
        const own = await (q as Tensor).clone();
        try {
          const grown = (await (w as Tensor).log1p().mul(exponent).expm1()) as Tensor;
          return besideIdentity(of, own, grown, scale ** exponent);
        } catch (error) {
          own.dispose();
          throw error;
        }
      },
      logdet: async ([, w]) => {
        using total = await (w as Tensor).log1p().sum();
        return (await total.item()) + shape[0] * Math.log(scale);
      },
    },
  );
}

/**
 * The preconditioner that damps eigenvalues to the least of them: `U ((w_k + shift) / (w + shift))^power U^T + (I - U U^T)`.
 *
 * @param vectors U, (N, k), orthonormal, owned from here on
 * @param values w, (k, 1), descending
 */
export async function damped<D extends OperatorDType>(
  operator: LinearOperator<D>,
  vectors: Tensor,
  values: Tensor,
  { shift, power }: { readonly shift: number; readonly power: number },
): Promise<LinearOperator<D>> {
  const [k = 0] = values.shape;
  try {
    using least = values.slice([k - 1, k]);
    const ratio = least.add(shift).div(values.add(shift));
    const weights = await (power === 1 ? ratio : ratio.pow(power)).sub(1);
    return besideIdentity(operator, vectors, weights, 1);
  } catch (error) {
    vectors.dispose();
    throw error;
  }
}

/** @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH */
export function checkLowRank(
  what: string,
  operator: LinearOperator,
  rank: unknown,
  shift: unknown,
): void {
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  const [n] = operator.shape;
  checkCount(what, 'rank', rank, [1, n], ', the number of rows');
  if (typeof shift === 'number' && shift > 0 && shift < Infinity) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: shift is ${describeValue(shift)}. Pass the positive multiple of the identity that is added to the operator in the system that is solved.`,
  );
}
