import { qr, solveTriangular } from '@mercer/linalg';
import type { OptionNames } from '@mercer/options';
import { concat, random, type SignalOption, type Tensor } from '@mercer/tensor';
import { readOptions, SIGNAL_OPTION, unlessAborted } from '@mercer/tensor/operation';
import { checkKey, unitOf } from '../checks.js';
import { keeping } from '../krylov/columns.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import {
  checkGain,
  checkLowRank,
  choleskyOf,
  damped,
  GAIN_OVER,
  kept,
  leftSingular,
  times,
} from './low-rank.js';

type Numbers = Tensor<'float64'>;

/** Options of {@link nystrom}. */
export interface NystromOptions extends SignalOption {
  /** Columns of the sketch. About twice the effective dimension of the operator at this shift makes the condition number small. */
  readonly rank: number;
  /** The multiple of the identity that is added to the operator in the system that is solved; positive. */
  readonly shift: number;
  /** Of the random vectors. */
  readonly key: random.RandomKey;
  /**
   * `rank` is then the most: products are taken of ten random vectors at a time, and no more when the last ten took less than this share of what was left of the
   * operator's trace, which needs its diagonal. Default 0: all vectors at once.
   */
  readonly leastGain?: number | undefined;
}

const OPTIONS: OptionNames<NystromOptions> = {
  ...SIGNAL_OPTION,
  rank: true,
  shift: true,
  key: true,
  leastGain: true,
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
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; UNSUPPORTED with `leastGain` where the operator has no diagonal; LinalgError where the sketch has no factors, as of an operator that is not semidefinite; the signal's reason
 */
export async function nystrom<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: NystromOptions,
): Promise<LinearOperator<D>> {
  const what = 'nystrom';
  const { rank, shift, key, signal, leastGain = 0 } = readOptions(what, options, OPTIONS);
  checkLowRank(what, operator, rank, shift);
  checkKey(what, key);
  checkGain(what, leastGain);
  signal?.throwIfAborted();
  const { shape, dtype, device } = operator;
  using drawn = await random.normal([shape[0], rank], { key, dtype, device });
  using omega = kept(await qr(drawn as unknown as Numbers), 'q');
  const found = await sketch(what, operator, omega, { leastGain, signal });
  using root = found.root;
  using nu = found.nu;
  const { vectors, squares } = await leftSingular(root);
  using larger = squares;
  return await keeping({ vectors }, async () => {
    using values: Tensor = await larger.sub(nu).maximum(0);
    return await damped(operator, vectors, values, { shift, power: 1 });
  });
}

/** A root B of the Nyström approximation `B B^T`, (N, count), and the multiple of the identity that it has too much, by float64 numbers. */
interface Sketch {
  readonly root: Tensor;
  readonly nu: Tensor;
}

/** The sketch by as many of the vectors as gain enough of the trace. */
async function sketch(
  what: string,
  operator: LinearOperator,
  omega: Tensor,
  { leastGain, signal }: Pick<NystromOptions, 'signal'> & { readonly leastGain: number },
): Promise<Sketch> {
  if (leastGain === 0) {
    using plain = await operator.matvec(omega as never);
    return await rootOf(what, omega, plain);
  }
  const [, rank = 0] = omega.shape;
  using diagonal = await operator.diagonal();
  using wide = await diagonal.cast('float64');
  using whole = await wide.sum();
  let left = await unlessAborted(whole.item(), signal);
  let plain: Tensor | undefined;
  try {
    for (let count = 0; ;) {
      signal?.throwIfAborted();
      const next = Math.min(rank, count + GAIN_OVER);
      using some = omega.slice(null, [count, next]);
      using images = await operator.matvec(some as never);
      const before = plain;
      plain = before === undefined ? await images.clone() : await concat([before, images], 1);
      before?.dispose();
      count = next;
      using known = omega.slice(null, [0, count]);
      const found = await rootOf(what, known, plain);
      if (count === rank) return found;
      const rest = await keeping({ ...found }, async () => {
        using squares = await found.root.square().sum();
        using excess = await found.nu.mul(count);
        using captured = await squares.sub(excess);
        using remains = await whole.sub(captured);
        return await unlessAborted(remains.item(), signal);
      });
      if (rest > (1 - leastGain) * left) return found;
      for (const one of [found.root, found.nu]) one.dispose();
      left = rest;
    }
  } finally {
    plain?.dispose();
  }
}

/** @param plain the operator's products with the orthonormal columns of omega */
async function rootOf(what: string, omega: Tensor, plain: Tensor): Promise<Sketch> {
  using norm = await plain.norm();
  // so that rounding leaves the small matrix positive definite
  using nu = await norm.mul(2 * unitOf(omega.dtype));
  using y: Tensor = await plain.add(omega.mul(nu));
  using small = await times(omega, y, { transposeA: true });
  using upper = await choleskyOf(
    what,
    "the matrix of the operator's products with random vectors",
    small,
  );
  using turned = y.transpose() as Numbers;
  // B^T = C^-T Y^T for the upper factor C of it
  using across = kept(
    await solveTriangular(upper, turned, { uplo: 'upper', transpose: true }),
    'x',
  );
  using found = across.transpose();
  const root: Tensor = await found.cast('float64');
  return await keeping({ root }, async () => ({ root, nu: await nu.cast('float64') }));
}
