import { solveTriangular } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import { eye, MercerError, type SignalOption, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { assertOperator, assertSquare, LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { choleskyOf, kept, times } from './low-rank.js';

/** Options of {@link falkon}. */
export interface FalkonOptions extends SignalOption {
  /** Rows of data, of which the centres are a sample. */
  readonly rows: number;
  /** The multiple lambda of the system, positive. */
  readonly penalty: number;
  /** What is added to the diagonal of the centres' matrix, by its trace; default 1e-13, in float32 1e-5, which hides its rounding. */
  readonly jitter?: number | undefined;
}

const OPTIONS: OptionNames<FalkonOptions> = {
  ...SIGNAL_OPTION,
  rows: true,
  penalty: true,
  jitter: true,
};

/**
 * Falkon's preconditioner (Rudi, Carratino and Rosasco 2017) of kernel ridge regression on m Nyström centres out of n rows, whose system is
 * `(K_nm^T K_nm + penalty n K_mm) a = K_nm^T y`. With K_nm^T K_nm taken as n/m K_mm^2, the factors `T^T T = K_mm` and `A^T A = T T^T / m + penalty I`
 * make it `n (A T)^T A T`, and the inverse of that is applied. It stores one matrix of m x m, `(A T)^-1`, in float64 whatever the operator's dtype is.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { cg, falkon } from '@mercer/solvers';
 * import { linspace } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = (await linspace(0, 1, 200, where)).reshape([200, 1]);
 * const some = (await linspace(0, 1, 20, where)).reshape([20, 1]);
 * const y = await linspace(1, 2, 200, where);
 *
 * const cross = lazyI(points).sqdist(lazyJ(some)).neg().exp().asOperator(); // (n, m)
 * const centres = lazyI(some).sqdist(lazyJ(some)).neg().exp().asOperator(); // (m, m)
 * const penalty = 1e-4;
 * const system = cross.t().matmul(cross).add(centres.scale(penalty * 200));
 * using preconditioner = await falkon(centres, { rows: 200, penalty });
 * const { x, iterations } = await cg(system, await cross.rmatvec(y), { preconditioner });
 * console.log(x.shape, iterations < 20); // [ 20 ] true
 * ```
 *
 * @param centres K_mm, symmetric positive semidefinite
 * @returns the preconditioner (m, m), which the caller disposes
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; LinalgError where K_mm with its jitter is not positive definite; the signal's reason
 */
export async function falkon<D extends OperatorDType>(
  centres: LinearOperator<D>,
  options: FalkonOptions,
): Promise<LinearOperator<D>> {
  const what = 'falkon';
  assertNotPreparing(what);
  const given = readOptions(what, options, OPTIONS);
  assertOperator(centres, `${what}: the operator of the centres`);
  assertSquare(what, centres);
  const { shape, dtype, device } = centres;
  const [m] = shape;
  const { rows, penalty, jitter = dtype === 'float64' ? 1e-13 : 1e-5, signal } = given;
  checkNumbers(what, m, { rows, penalty, jitter });
  signal?.throwIfAborted();
  using stored = await centres.dense();
  using matrix = await stored.cast('float64');
  using identity = await eye(m, { dtype: 'float64', device });
  using diagonal = await matrix.mul(identity).sum();
  using definite: Tensor = await matrix.add(identity.mul(diagonal.mul(jitter)));
  using t = await choleskyOf(what, "the centres' matrix with its jitter", definite);
  using square = await times(t, t, { transposeB: true });
  using inner: Tensor = await square.div(m).add(identity.mul(penalty));
  using a = await choleskyOf(what, 'T T^T / m + penalty I', inner);
  using inverse = kept(await solveTriangular(a, identity, { uplo: 'upper' }), 'x');
  // (A T)^-1
  const root = kept(await solveTriangular(t, inverse, { uplo: 'upper' }), 'x');
  const matvec = async (v: Tensor, [w]: readonly Tensor[]): Promise<Tensor> => {
    using wide = await v.cast('float64');
    using half = await times(w as Tensor, wide, { transposeA: true });
    using whole = await times(w as Tensor, half);
    using scaled = (await whole.div(rows)) as Tensor;
    return await scaled.cast(dtype);
  };
  return new LinearOperator<D>({
    form: { shape, dtype, device, isCapturable: true },
    parameters: [root],
    owned: [root],
    rules: { matvec, rmatvec: matvec, diagonal: undefined },
  });
}

/** @throws MercerError INVALID_ARGUMENT */
function checkNumbers(
  what: string,
  centres: number,
  { rows, penalty, jitter }: Readonly<Record<'rows' | 'penalty' | 'jitter', number>>,
): void {
  if (!(Number.isSafeInteger(rows) && rows >= centres)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rows is ${describeValue(rows)}. Pass how many rows of data there are, a whole number from ${centres} on, the number of centres.`,
    );
  }
  for (const [name, value, isOpen] of [
    ['penalty', penalty, true],
    ['jitter', jitter, false],
  ] as const) {
    const number: unknown = value;
    const isIn = typeof number === 'number' && number < Infinity;
    if (isIn && (isOpen ? number > 0 : number >= 0)) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(value)}. Pass a finite number ${isOpen ? 'above' : 'of at least'} 0.`,
    );
  }
}
