import { cholesky, LinalgError, matmul, qr, solveTriangular, svd } from '@mercer/linalg';
import { describeValue } from '@mercer/options';
import { concat, eye, MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
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
        return await keeping({ own }, async () => {
          const grown = (await (w as Tensor).log1p().mul(exponent).expm1()) as Tensor;
          return besideIdentity(of, own, grown, scale ** exponent);
        });
      },
      logdet: async ([, w]) => {
        using total = await (w as Tensor).log1p().sum();
        return (await total.item()) + shape[0] * Math.log(scale);
      },
    },
  );
}

/**
 * The inverse of `B B^T + shift I`, `(v - Q Q^T v) / shift`, where Q are the first N rows of the orthonormal columns that span those of `[B; sqrt(shift) I]` (Woodbury's identity;
 * Gardner et al. 2018, appendix). It needs products and small Cholesky factors alone; eigenvalues are computed when a power or the determinant is asked for.
 *
 * @param rows B^T, (k, N), float64
 */
export async function inverseOfRoot<D extends OperatorDType>(
  of: LinearOperator<D>,
  rows: Tensor,
  shift: number,
): Promise<PoweredOperator<D>> {
  const { shape, dtype, device } = of;
  const [n] = shape;
  const [k = 0] = rows.shape;
  using identity = await eye(k, { dtype: 'float64', device });
  using scaled: Tensor = await identity.mul(Math.sqrt(shift));
  using stacked = await concat([rows, scaled], 1);
  using spanning = await orthonormalRows(stacked);
  using first = spanning.slice(null, [0, n]);
  using turned = first.transpose();
  const basis = await turned.clone();
  const matvec = async (v: Tensor, [q]: readonly Tensor[]): Promise<Tensor> => {
    using wide = await v.cast('float64');
    using along = await times(q as Tensor, wide, { transposeA: true });
    using low = await times(q as Tensor, along);
    using rest: Tensor = await wide.sub(low).div(shift);
    return await rest.cast(dtype);
  };
  /** By eigenvectors: of Q Q^T, whose eigenvalues are `1 - shift / (w + shift)` for those w of `B B^T`. */
  const byEigenvectors = async ([q]: readonly Tensor[]): Promise<PoweredOperator<D>> => {
    const { vectors, squares } = await leftSingular(q as Tensor);
    using shares = squares;
    return await keeping({ vectors }, async () =>
      // rounding may leave a share of 1 or more
      besideIdentity(of, vectors, await shares.minimum(LARGEST_SHARE).neg(), 1 / shift),
    );
  };
  return new PoweredOperator<D>(
    {
      form: { shape, dtype, device, isCapturable: true },
      parameters: [basis],
      owned: [basis],
      rules: { matvec, rmatvec: matvec, diagonal: undefined },
    },
    {
      power: async (exponent, parameters) => {
        using whole = await byEigenvectors(parameters);
        return await whole.power(exponent);
      },
      logdet: async (parameters) => {
        using whole = await byEigenvectors(parameters);
        return await whole.logdet();
      },
    },
  );
}

/** The largest float64 number below 1. */
const LARGEST_SHARE = 1 - 2 ** -53;

/** What the first factor of {@link orthonormalRows} has more on its diagonal, by the trace and the number of rows: rounding of the products, so that there is a factor. */
const FIRST_SHIFT = 2 ** -50;

/**
 * Orthonormal rows that span those of a wide matrix (k, N), float64, by Cholesky factors of their products, twice: once leaves what the square of the condition number makes of
 * rounding, twice nothing (CholeskyQR2; Fukaya et al. 2014, with the shift of Fukaya et al. 2020).
 */
async function orthonormalRows(rows: Tensor): Promise<Tensor> {
  const [k = 0] = rows.shape;
  using products = await times(rows, rows, { transposeB: true });
  using diagonal: Tensor = await products.diag();
  using trace: Tensor = await diagonal.sum();
  using definite = await raised(products, trace.mul(k * FIRST_SHIFT));
  using once = await solvedBy(definite, rows);
  using again = await times(once, once, { transposeB: true });
  return await solvedBy(again, once);
}

/** A matrix (k, k) and a multiple of the identity. */
export async function raised(matrix: Tensor, by: TensorOperand): Promise<Tensor> {
  const { shape, dtype, device } = matrix;
  using identity = await eye(shape[0] ?? 0, { dtype: dtype as 'float64', device });
  return await matrix.add(identity.mul(by as Numbers));
}

/** `C^-T rows` of the upper Cholesky factor C of a positive definite matrix. */
async function solvedBy(definite: Tensor, rows: Tensor): Promise<Tensor> {
  using upper = kept(await cholesky(definite as Numbers, { uplo: 'upper' }), 'factor');
  return kept(await solveTriangular(upper, rows as Numbers, TRANSPOSED), 'x');
}

/** Of the system `C^T x = b` of an upper triangular C. */
export const TRANSPOSED = { uplo: 'upper', transpose: true } as const;

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
