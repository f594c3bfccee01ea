import { add, min, mul, variable } from '@mercer/formula';
import type { RowRange } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import {
  arange,
  isTensor,
  map,
  MercerError,
  scatterAdd,
  scope,
  stack,
  take,
  type DType,
  type Pending,
  type Scope,
  type Tensor,
  type TensorOperand,
  type WorkOptions,
} from '@mercer/tensor';
import { assertNotPreparing, isTraced, vouchForSpans } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import type { LazyDType } from '../lazy-dtype.js';
import {
  boundsOf,
  checkPoints,
  checkPositive,
  checkWhole,
  WORK_OPTION_NAMES,
  type Points,
} from './cluster-data.js';
import { boxesMeet, boxesOf, moved, type Boxes } from './cluster-boxes.js';
import { CUTOFF_OPTIONS, cutoffOf, type CutoffOptions } from './cutoff.js';
import { slicesOf, type PlacedRanges } from './from-matrix.js';
import { planTiling, tiledOrder } from './tiled-order.js';

/** Options of {@link truncatedRanges}: a cutoff, or the kernel and the error that it follows from. */
export interface TruncatedOptions extends WorkOptions, Partial<CutoffOptions> {
  /** The distance beyond which pairs may be left out. */
  readonly cutoff?: number | undefined;
  /** Rows of a cluster. Default: a power of two from 32 to 512, by the cutoff and the density of the points. */
  readonly clusterSize?: number | undefined;
}

const TRUNCATED_OPTIONS: OptionNames<TruncatedOptions> = {
  ...WORK_OPTION_NAMES,
  ...CUTOFF_OPTIONS,
  cutoff: true,
  clusterSize: true,
};

/** Points in the order of their clusters, and which clusters meet. */
export interface TruncatedRanges<D extends LazyDType = LazyDType> {
  /** The rows of x and of y in the order of their clusters: what the formula is made of. */
  readonly x: Tensor<D>;
  readonly y: Tensor<D>;
  /** Where each of these rows was, int32: (M) and (N). */
  readonly orderI: Tensor<'int32'>;
  readonly orderJ: Tensor<'int32'>;
  /** What a reduction takes as `ranges`, over either side. Both directions hold the same pairs. */
  readonly ranges: PlacedRanges;
  /** Pairs that lie further apart may be left out; no pair that is nearer is. */
  readonly cutoff: number;
  /** What a pair that is left out may count at most; undefined where the cutoff was given. */
  readonly error: number | undefined;
  /** How many pairs of rows are kept. */
  readonly pairs: number;
  /** Other rows (N, ..) of j, such as the weights of a sum, in the order of y; with derivatives. */
  sortJ<E extends DType>(rows: TensorOperand<E>): Pending<Tensor<E>>;
  /** Other rows (M, ..) of i in the order of x. */
  sortI<E extends DType>(rows: TensorOperand<E>): Pending<Tensor<E>>;
  /** A result with a row for each row of x (default), or of y, in the order in which they were given. */
  restore<E extends DType>(rows: TensorOperand<E>, side?: 'i' | 'j'): Pending<Tensor<E>>;
  /** Returns the memory of all of these. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * Which rows have to meet in a sum over a kernel that decays, so that it changes by no more than is said: points are sorted into clusters, and
 * two clusters meet where their boxes are at most `cutoff` apart. All of it is done on the device.
 *
 * Pairs that are left out lie further apart than the cutoff. Where the kernel is at most `error` there, a sum `sum_j k(x_i, y_j) b_j` changes by
 * at most `error * sum_j |b_j|` in every row; rounding comes on top. With `{ kernel, bandwidth, error }` the cutoff is that of `cutoffOf`. Derivatives
 * of the sum are those of the pairs that are kept.
 *
 * With one set of points pass it twice: `truncatedRanges(x, x, ..)` sorts it once, and the kept pairs are symmetric, so that solvers may take
 * the sum as a symmetric operator.
 *
 * Clusters have the same number of rows. They are cut along the three longest axes, so that it helps for points of few dimensions, or that
 * lie near a surface of few; what is kept is right for any.
 *
 * @param x (M, D), float32 or float64, without NaN and infinity
 * @param y (N, D) of the same dtype
 * @throws LazyError INVALID_ARGUMENT; MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; the signal's reason
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ, truncatedRanges } from '@mercer/lazy';
 * import { random } from '@mercer/tensor';
 *
 * const x = await random.uniform([2000, 3], { key: random.key(1), device: 'cpu' });
 * const b = await random.normal([2000, 1], { key: random.key(2), device: 'cpu' });
 * using near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth: 0.05, error: 1e-6 });
 * const gaussian = lazyI(near.x).sqdist(lazyJ(near.y)).mul(-1 / (2 * 0.05 ** 2)).exp();
 * const sums = await gaussian.mul(lazyJ(await near.sortJ(b))).sum('j', { ranges: near.ranges });
 * const inOrder = await near.restore(sums); // row i belongs to row i of x
 * console.log(inOrder.shape, near.pairs < 2000 ** 2); // [ 2000, 1 ] true
 * ```
 */
export async function truncatedRanges<D extends LazyDType>(
  x: Tensor<D>,
  y: Tensor<D>,
  options: TruncatedOptions,
): Promise<TruncatedRanges<D>> {
  const what = 'truncatedRanges';
  assertNotPreparing(what);
  const given = readOptions(what, options, TRUNCATED_OPTIONS);
  const { stream, signal, clusterSize, error } = given;
  const work = { stream, signal };
  const cutoff = wantedCutoff(what, given);
  if (clusterSize !== undefined) checkWhole(what, 'clusterSize', clusterSize, 1);
  checkPoints(what, 'x', x);
  checkPoints(what, 'y', y);
  for (const [name, one] of [['x', x] as const, ['y', y] as const]) {
    if (one.shape[0] !== 0) continue;
    throw new LazyError('INVALID_ARGUMENT', `${what}: ${name} has no rows. Pass one at least.`);
  }
  checkAlike(what, x, y);
  const isOne = (x as Tensor) === (y as Tensor);
  return scope(async (s) => {
    const tile = { cutoff, clusterSize, work };
    const i = await clustered(s, what, 'x', x, tile);
    const j = isOne ? i : await clustered(s, what, 'y', y, tile);
    // boxes are compared in the dtype of the points
    const unit = x.dtype === 'float64' ? 2 ** -53 : 2 ** -24;
    const reach = (cutoff * (1 + ((x.shape[1] ?? 1) + 8) * unit)) ** 2;
    if (!(reach < LARGEST[x.dtype])) throw tooFar(what, cutoff, x.dtype);
    const forward = await meeting(s, i, j, reach, work);
    const back = isOne ? forward : await meeting(s, j, i, reach, work);
    const ranges: PlacedRanges = {
      rangesI: i.ranges,
      slicesI: forward.slices,
      redrangesJ: forward.met,
      rangesJ: j.ranges,
      slicesJ: back.slices,
      redrangesI: back.met,
    };
    return asResult({ i, j, ranges, cutoff, error, pairs: forward.pairs, work }, s);
  });
}

/** Numbers below these are finite. */
const LARGEST = { float32: 3.4e38, float64: Number.MAX_VALUE } as const;

const tooFar = (what: string, cutoff: number, dtype: string): LazyError =>
  new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the cutoff is ${cutoff}, and its square is no number in ${dtype}. Allow a larger error, or sum over all pairs.`,
  );

/** @throws MercerError SHAPE_MISMATCH where there is not a row for each that is sorted */
function checkRowCount(what: string, rows: unknown, count: number): void {
  if (!isTensor(rows) && !isTraced(rows)) return;
  const { shape, label } = rows as Tensor;
  if (shape[0] === count) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the rows are ${label}, and there are ${count} on that side. Pass one for each, and name the side.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH */
function checkAlike(what: string, x: Points, y: Points): void {
  const code = x.dtype === y.dtype ? 'SHAPE_MISMATCH' : 'DTYPE_MISMATCH';
  if (x.dtype === y.dtype && x.shape[1] === y.shape[1]) return;
  throw new MercerError(
    code,
    `${what}: x is ${x.label} and y is ${y.label}. Both have rows of as many coordinates, of one dtype.`,
  );
}

/** @throws LazyError INVALID_ARGUMENT */
function wantedCutoff(
  what: string,
  { cutoff, kernel, bandwidth, error }: TruncatedOptions,
): number {
  if (cutoff !== undefined && (kernel ?? bandwidth ?? error) === undefined) {
    return checkPositive(what, 'the cutoff', cutoff);
  }
  if (cutoff === undefined && kernel !== undefined && error !== undefined) {
    return cutoffOf({ kernel, bandwidth, error });
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: cutoff is ${describeValue(cutoff)}, kernel ${describeValue(kernel)}, bandwidth ${describeValue(bandwidth)} and error ${describeValue(error)}. Pass { cutoff }, or { kernel, bandwidth, error }.`,
  );
}

/** Points of a side in clusters. */
interface Side {
  readonly sorted: Points;
  readonly order: Tensor<'int32'>;
  /** Where row k of the points is in `sorted`. */
  readonly places: Tensor<'int32'>;
  readonly boxes: Boxes;
  /** Rows of a cluster. */
  readonly rows: number;
  readonly ranges: readonly RowRange[];
}

interface Tile {
  readonly cutoff: number;
  readonly clusterSize: number | undefined;
  readonly work: WorkOptions;
}

async function clustered(
  s: Scope,
  what: string,
  name: string,
  x: Points,
  { cutoff, clusterSize, work }: Tile,
): Promise<Side> {
  const [count = 0] = x.shape;
  const tiling = planTiling(count, await boundsOf(what, name, x, work), cutoff, clusterSize);
  const order = await tiledOrder(s, x, tiling, work);
  const sorted = s.track(await take(x, order, 0, work));
  const numbers = s.track(await arange(count, { dtype: 'float64', device: x.device, ...work }));
  // each place is written once
  const options = { deterministic: false, ...work } as const;
  const scattered = s.track(await scatterAdd(numbers, order, count, options));
  const places = s.track(await scattered.cast('int32', work));
  const { rows } = tiling;
  const ranges = Array.from({ length: Math.ceil(count / rows) }, (_, k): RowRange => [
    k * rows,
    Math.min(count, (k + 1) * rows),
  ]);
  return { sorted, order, places, boxes: await boxesOf(s, sorted, rows, work), rows, ranges };
}

interface Meeting {
  readonly slices: readonly number[];
  readonly met: Tensor<'int64'>;
  readonly pairs: number;
}

const START = mul(variable('cluster'), variable('rows'));
const END = min(add(START, variable('rows')), variable('count'));

/**
 * The clusters of the other side that each meets, as runs of neighbours: a run begins where a cluster is met and the one before it is not, and
 * ends where the next is not.
 */
async function meeting(
  s: Scope,
  kept: Side,
  reduced: Side,
  squared: number,
  work: WorkOptions,
): Promise<Meeting> {
  const here = boxesMeet(kept.boxes, reduced.boxes, squared);
  const edge = async (by: 1 | -1): Promise<{ offsets: Tensor<'int64'>; at: Tensor<'int32'> }> => {
    const beside = boxesMeet(kept.boxes, await moved(s, reduced.boxes, by, work), squared);
    const found = await here.gt(beside).nonzero('j', work);
    return { offsets: s.track(found.offsets), at: s.track(found.indices) };
  };
  const [first, last] = [await edge(1), await edge(-1)];
  const { rows, ranges } = reduced;
  const count = ranges.at(-1)?.[1] ?? 0;
  const row = async (at: Tensor<'int32'>, of: typeof START): Promise<Tensor<'int64'>> =>
    s.track(
      await map(of, { cluster: at }, { dtype: 'int64', parameters: { rows, count }, ...work }),
    );
  const starts = await row(first.at, START);
  const ends = await row(last.at, END);
  const met = s.track(await stack([starts, ends], 1, work));
  const slices = await slicesOf(first.offsets, work);
  const lengths = s.track(await ends.sub(starts));
  const total = async (from: number): Promise<number> => {
    const some = s.track(lengths.slice([from]));
    return some.size === 0 ? 0 : Number(await s.track(await some.sum(undefined, work)).item());
  };
  // all clusters are full but the last
  const [from, until] = kept.ranges.at(-1) ?? [0, 0];
  const missing = kept.rows - (until - from);
  const pairs =
    kept.rows * (await total(0)) -
    (missing === 0 ? 0 : missing * (await total(slices.at(-2) ?? 0)));
  vouchForSpans(met, { reducedRows: count, pairs });
  return { slices, met, pairs };
}

interface Made {
  readonly i: Side;
  readonly j: Side;
  readonly ranges: PlacedRanges;
  readonly cutoff: number;
  readonly error: number | undefined;
  readonly pairs: number;
  readonly work: WorkOptions;
}

/** What callers get; it keeps its tensors from the scope that they were made in. */
function asResult<D extends LazyDType>(
  { i, j, ranges, cutoff, error, pairs, work }: Made,
  s: Scope,
): TruncatedRanges<D> {
  const own = new Set<Tensor>(
    [i, j].flatMap(({ sorted, order, places }): Tensor[] => [sorted, order, places]),
  );
  for (const one of [ranges.redrangesJ, ranges.redrangesI]) own.add(one);
  for (const one of own) s.keep(one);
  const dispose = (): void => {
    for (const one of own) one.dispose();
  };
  const sorted = <E extends DType>(what: string, rows: TensorOperand<E>, by: Tensor<'int32'>) => {
    checkRowCount(what, rows, by.size);
    return take(rows, by, 0, { stream: work.stream });
  };
  return {
    x: i.sorted as Tensor as Tensor<D>,
    y: j.sorted as Tensor as Tensor<D>,
    orderI: i.order,
    orderJ: j.order,
    ranges,
    cutoff,
    error,
    pairs,
    sortI: (rows) => sorted('sortI', rows, i.order),
    sortJ: (rows) => sorted('sortJ', rows, j.order),
    restore: (rows, side = 'i') => {
      if ((side as string) !== 'i' && (side as string) !== 'j') {
        throw new LazyError(
          'INVALID_ARGUMENT',
          `restore: the side is ${describeValue(side)}. Use 'i' for a row of each row of x, or 'j' of y.`,
        );
      }
      return sorted('restore', rows, (side === 'i' ? i : j).places);
    },
    dispose,
    [Symbol.dispose]: dispose,
  };
}
