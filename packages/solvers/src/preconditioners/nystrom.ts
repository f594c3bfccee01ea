import { qr, solveTriangular } from '@mercer/linalg';
import type { OptionNames } from '@mercer/options';
import { concat, random, take, type SignalOption, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  readOptions,
  SIGNAL_OPTION,
  unlessAborted,
} from '@mercer/tensor/operation';
import { checkFlag, checkKey, unitOf } from '../checks.js';
import { keeping } from '../krylov/columns.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import {
  checkGain,
  checkLowRank,
  choleskyOf,
  GAIN_OVER,
  inverseOfRoot,
  kept,
  raised,
  times,
  TRANSPOSED,
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
  /**
   * Whether random columns of the operator take the place of its products with random vectors: `rank` rows of it instead of as many products, so that many more cost less. Points that lie
   * far from all others are found by `pivotedCholesky` alone. Default false.
   */
  readonly columns?: boolean | undefined;
}

const OPTIONS: OptionNames<NystromOptions> = {
  ...SIGNAL_OPTION,
  rank: true,
  shift: true,
  key: true,
  leastGain: true,
  columns: true,
};

/**
 * The randomised Nyström preconditioner of `operator + shift I`: the products Y with `rank` random vectors Omega give the approximation `Y (Omega^T Y)^-1 Y^T` of the operator
 * (Frangella, Tropp and Udell 2023, algorithm 2.1), and the inverse of that with the shift is applied. With `columns` the vectors are columns of the identity (Williams and Seeger 2001).
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
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; UNSUPPORTED with `leastGain` where the operator has no diagonal, and with `columns` where it has neither rows nor a transpose; LinalgError where the sketch has no factors, as of an operator that is not semidefinite; the signal's reason
 */
export async function nystrom<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: NystromOptions,
): Promise<LinearOperator<D>> {
  const what = 'nystrom';
  assertNotPreparing(what);
  const given = readOptions(what, options, OPTIONS);
  const { rank, shift, key, signal, leastGain = 0, columns = false } = given;
  checkLowRank(what, operator, rank, shift);
  checkKey(what, key);
  checkGain(what, leastGain);
  checkFlag(what, 'columns', columns);
  signal?.throwIfAborted();
  using across = await sketch(what, operator, given);
  return await inverseOfRoot(operator, across, shift);
}

/** Vectors that an operator is multiplied with. */
interface Vectors {
  /** The products with those from one number to another, transposed, (count, N). */
  readonly images: (from: number, to: number) => Promise<Tensor>;
  /** What the first ones have of rows (count, N), (count, count). */
  readonly along: (rows: Tensor) => Promise<Tensor>;
}

/** B^T of the approximation `B B^T` of the operator, (count, N) in float64, by as many of the vectors as gain enough of the trace. */
async function sketch<D extends OperatorDType>(
  what: string,
  operator: LinearOperator<D>,
  options: NystromOptions,
): Promise<Tensor> {
  const { rank, key, columns = false } = options;
  const { shape, dtype, device } = operator;
  if (columns) {
    using chosen = await random.choice(shape[0], [rank], { key, replace: false, device });
    return await rooted(what, operator, options, {
      images: async (from, to) => {
        using some = chosen.slice([from, to]);
        return await operator.rows(some);
      },
      along: async (rows) => {
        using some = chosen.slice([0, rows.shape[0] ?? 0]);
        return await take(rows, some, 1);
      },
    });
  }
  using drawn = await random.normal([shape[0], rank], { key, dtype, device });
  using omega = kept(await qr(drawn as unknown as Numbers), 'q');
  return await rooted(what, operator, options, {
    images: async (from, to) => {
      using some = omega.slice(null, [from, to]);
      using products = await operator.matvec(some as never);
      using turned = products.transpose();
      return await turned.clone();
    },
    along: async (rows) => {
      using some = omega.slice(null, [0, rows.shape[0] ?? 0]);
      using wide = await some.cast('float64');
      return await times(rows, wide);
    },
  });
}

/** B^T of the approximation by the first of the vectors: all of them, or ten more as long as they gain enough of the trace. */
async function rooted(
  what: string,
  operator: LinearOperator,
  { rank, signal, leastGain = 0 }: NystromOptions,
  vectors: Vectors,
): Promise<Tensor> {
  const unit = 2 * unitOf(operator.dtype);
  const rootOf = async (rows: Tensor): Promise<Tensor> => {
    using small = await vectors.along(rows);
    return await nystromRoot(what, rows, small, unit);
  };
  const imagesOf = async (from: number, to: number): Promise<Tensor> => {
    using images = await vectors.images(from, to);
    return await images.cast('float64');
  };
  if (leastGain === 0) {
    using rows = await imagesOf(0, rank);
    return await rootOf(rows);
  }
  using diagonal = await operator.diagonal();
  using wide = await diagonal.cast('float64');
  using whole = await wide.sum();
  let left = await unlessAborted(whole.item(), signal);
  let rows: Tensor | undefined;
  try {
    for (let count = 0; ;) {
      signal?.throwIfAborted();
      const next = Math.min(rank, count + GAIN_OVER);
      using more = await imagesOf(count, next);
      const before = rows;
      rows = before === undefined ? await more.clone() : await concat([before, more], 0);
      before?.dispose();
      count = next;
      const root = await rootOf(rows);
      if (count === rank) return root;
      const rest = await keeping({ root }, async () => {
        using captured = await root.square().sum();
        using remains = await whole.sub(captured);
        return await unlessAborted(remains.item(), signal);
      });
      if (rest > (1 - leastGain) * left) return root;
      root.dispose();
      left = rest;
    }
  } finally {
    rows?.dispose();
  }
}

/**
 * B^T of the Nyström approximation `B B^T = Y (Omega^T Y)^-1 Y^T`.
 *
 * @param rows Y^T, the products with Omega, (count, N)
 * @param small Omega^T Y
 * @param unit what rounding is by the size of Y: that much more on the diagonal leaves the small matrix positive definite
 */
async function nystromRoot(
  what: string,
  rows: Tensor,
  small: Tensor,
  unit: number,
): Promise<Tensor> {
  using norm: Tensor = await rows.norm();
  using definite = await raised(small, norm.mul(unit));
  using upper = await choleskyOf(
    what,
    "the matrix of the operator's products with random vectors",
    definite,
  );
  // B^T = C^-T Y^T for the upper factor C of it
  return kept(await solveTriangular(upper, rows as Numbers, TRANSPOSED), 'x');
}
