import { div, gt, select, variable } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import {
  countRows,
  cumSum,
  map,
  MercerError,
  random,
  scatterAdd,
  scope,
  take,
  topK,
  type Scope,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import { assertNotPreparing } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import type { LazyDType } from '../lazy-dtype.js';
import { lazyI, lazyJ } from '../make-lazy.js';
import {
  boundsOf,
  checkPoints,
  checkWhole,
  WORK_OPTION_NAMES,
  type Points,
} from './cluster-data.js';

/** Options of {@link kMeans}. */
export interface KMeansOptions<D extends LazyDType = LazyDType> extends WorkOptions {
  /** What the first centroids are drawn with; needed where there are no `centroids`. */
  readonly key?: random.RandomKey | undefined;
  /** The first centroids, (clusters, D). Default: drawn by k-means++. */
  readonly centroids?: Tensor<D> | undefined;
  /** Default: 300. */
  readonly maxIterations?: number | undefined;
  /** It has converged when the centroids' squared moves add up to at most so much; default 0: when no row changes its cluster. */
  readonly tolerance?: number | undefined;
}

const K_MEANS_OPTIONS: OptionNames<KMeansOptions> = {
  ...WORK_OPTION_NAMES,
  key: true,
  centroids: true,
  maxIterations: true,
  tolerance: true,
};

/** What {@link kMeans} gives. */
export interface KMeansClusters<D extends LazyDType = LazyDType> {
  /** (N), int32: the nearest of the centroids to each row, the first of equally near ones. */
  readonly labels: Tensor<'int32'>;
  /** (clusters, D) */
  readonly centroids: Tensor<D>;
  /** The sum of the squared distances of the rows from their centroids. */
  readonly inertia: number;
  /** How often the centroids were moved. */
  readonly iterations: number;
  readonly converged: boolean;
}

/**
 * Clusters by Lloyd's algorithm (IEEE Transactions on Information Theory 28, 1982): every row goes to the nearest centroid, in one fused kernel
 * without a matrix of distances, and every centroid to the mean of its rows. A cluster that has become empty takes the row that is farthest from its centroid, the next one the
 * second farthest, and so on. The labels belong to the centroids that are returned.
 *
 * The first centroids are rows, drawn by k-means++ (Arthur and Vassilvitskii, SODA 2007): each with a probability in proportion to its squared
 * distance from those before it. Where all rows lie on centroids, the rest are copies of rows. The same key gives the same clusters.
 *
 * @param x (N, D), float32 or float64
 * @param clusters how many: 1 to N
 * @throws LazyError INVALID_ARGUMENT; MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DISPOSED; the signal's reason
 *
 * @example
 * ```ts
 * import { kMeans } from '@mercer/lazy';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[0], [1], [10], [11]], { device: 'cpu' });
 * const { centroids, inertia } = await kMeans(x, 2, { key: random.key(1) });
 * const found = [...(await centroids.toTypedArray())].sort((a, b) => a - b);
 * console.log(found, inertia); // [ 0.5, 10.5 ] 1
 * ```
 */
export async function kMeans<D extends LazyDType>(
  x: Tensor<D>,
  clusters: number,
  options?: KMeansOptions<D>,
): Promise<KMeansClusters<D>> {
  const what = 'kMeans';
  assertNotPreparing(what);
  const given = readOptions<KMeansOptions<D>>(what, options, K_MEANS_OPTIONS);
  const { key, centroids: first, maxIterations = 300, tolerance = 0, stream, signal } = given;
  const work = { stream, signal };
  checkPoints(what, 'x', x);
  checkCounts(what, x, clusters);
  checkWhole(what, 'maxIterations', maxIterations, 0);
  if (!(typeof tolerance === 'number' && tolerance >= 0)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the tolerance is ${describeValue(tolerance)}. Pass a number from 0 on.`,
    );
  }
  if (first !== undefined) checkCentroids(what, x, clusters, first);
  else if (key === undefined) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: there is neither a key nor are there centroids. Pass { key: random.key(seed) } to draw the first centroids, or { centroids }.`,
    );
  }
  const points: Points = x;
  await boundsOf(what, 'x', points, work);
  return scope(async (s) => {
    let centroids: Points =
      first === undefined
        ? await seeded(s, points, clusters, key as random.RandomKey, work)
        : s.track(await (first as Points).clone(work));
    let [iterations, converged] = [0, false];
    let assigned = await assign(s, points, centroids, work);
    while (iterations < maxIterations && !converged) {
      signal?.throwIfAborted();
      const next = s.track(await means(points, assigned, centroids, work));
      using moves = await next.sub(centroids).square().sum(undefined, work);
      const moved = await moves.item();
      for (const one of [centroids, assigned.labels, assigned.distances]) one.dispose();
      centroids = next;
      assigned = await assign(s, points, centroids, work);
      iterations++;
      converged = moved <= tolerance;
    }
    const inertia = await s.track(await assigned.distances.sum(undefined, work)).item();
    return {
      labels: s.keep(assigned.labels),
      centroids: s.keep(centroids as Tensor as Tensor<D>),
      inertia,
      iterations,
      converged,
    };
  });
}

/** @throws LazyError INVALID_ARGUMENT */
function checkCounts(what: string, { shape }: Points, clusters: number): void {
  checkWhole(what, 'the number of clusters', clusters, 1);
  const [rows = 0] = shape;
  if (clusters <= rows) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${clusters} clusters of ${rows} rows. There are at most as many clusters as rows.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH */
function checkCentroids(what: string, x: Points, clusters: number, centroids: Tensor): void {
  checkPoints(what, 'centroids', centroids);
  const { shape, dtype, label } = centroids;
  if (dtype !== x.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the centroids are ${label} and x is ${x.label}. Cast one of them.`,
    );
  }
  if (shape[0] === clusters && shape[1] === x.shape[1]) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the centroids are ${label}. Their shape must be [${clusters}, ${x.shape[1]}].`,
  );
}

interface Assigned {
  /** (N) */
  readonly labels: Tensor<'int32'>;
  /** Squared, (N). */
  readonly distances: Points;
}

async function assign(
  s: Scope,
  x: Points,
  centroids: Points,
  work: WorkOptions,
): Promise<Assigned> {
  const [rows = 0] = x.shape;
  const squared = lazyI(x).sqdist(lazyJ(centroids));
  const { values, indices } = await squared.minArgMin('j', work);
  using _values = values;
  using _indices = indices;
  return {
    labels: s.track(indices.reshape([rows])),
    distances: s.track<Points>(values.reshape([rows])),
  };
}

const MEAN = select(
  gt(variable('count'), 0),
  div(variable('sum'), variable('count')),
  variable('other'),
);

/** The means of the clusters' rows; of an empty cluster a row that is far from its centroid. */
function means(
  x: Points,
  { labels, distances }: Assigned,
  centroids: Points,
  work: WorkOptions,
): Promise<Points> {
  return scope((s) => meansIn(s, x, { labels, distances }, centroids, work));
}

async function meansIn(
  s: Scope,
  x: Points,
  { labels, distances }: Assigned,
  centroids: Points,
  work: WorkOptions,
): Promise<Points> {
  const [clusters = 0] = centroids.shape;
  const counts = s.track(await countRows(labels, clusters, work));
  const sums = s.track(await scatterAdd(x as Tensor<'float64'>, labels, clusters, work));
  const count = s.track(counts.reshape([clusters, 1]));
  const isEmpty = s.track(await counts.eq(0));
  const empties = Number(
    await s.track(await s.track(await isEmpty.cast('int32', work)).sum(undefined, work)).item(),
  );
  let other = centroids;
  if (empties > 0) {
    const { values, indices: farthest } = await topK(distances, empties, 0, work);
    for (const one of [values, farthest]) s.track(one);
    const rows = s.track(await take(x, farthest, 0, work));
    // which of the far rows each empty cluster takes: how many empty ones are before it
    const flags = await isEmpty.toTypedArray(work);
    let next = 0;
    const which = Array.from(flags, (flag) => (flag ? next++ : 0));
    other = s.track<Points>(await take(rows, which, 0, work));
  }
  const { dtype } = x;
  const moved = await map(MEAN, { sum: sums, count, other }, { dtype, ...work });
  return moved;
}

/** Centroids by k-means++. */
async function seeded(
  s: Scope,
  x: Points,
  clusters: number,
  key: random.RandomKey,
  work: WorkOptions,
): Promise<Points> {
  const [rows = 0] = x.shape;
  const { device } = x;
  const draws = random.split(key, clusters);
  const start = await random.choice(rows, [1], {
    key: draws[0] as random.RandomKey,
    device,
    ...work,
  });
  const chosen = [s.track(start)];
  let nearest: Points | undefined;
  for (const draw of draws.slice(1)) {
    using latest = await take(x, chosen.at(-1) as Tensor<'int32'>, 0, work);
    using found = await lazyI(x).sqdist(lazyJ(latest)).sum('j', work);
    using squared: Points = found.reshape([rows]);
    const before: Points | undefined = nearest;
    nearest = s.track<Points>(
      before === undefined ? squared.view() : await before.minimum(squared),
    );
    before?.dispose();
    const weights: Points = nearest;
    chosen.push(s.track(await scope((inner) => drawn(inner, weights, draw, work))));
  }
  const places = await Promise.all(chosen.map((one) => one.item()));
  return s.track<Points>(await take(x, places.map(Number), 0, work));
}

/** The number of a row, drawn with a probability in proportion to its weight; the last one where none weighs anything. */
async function drawn(
  s: Scope,
  weights: Points,
  key: random.RandomKey,
  work: WorkOptions,
): Promise<Tensor<'int32'>> {
  const rows = weights.size;
  using uniform = await random.uniform([1], { key, dtype: 'float64', device: 'cpu' });
  const share = await uniform.item();
  const wide = s.track(await weights.cast('float64', work));
  const sums = s.track(await cumSum<'float64'>(wide, 0, work));
  const limit = s.track(await s.track(sums.slice([rows - 1])).mul(share));
  const isBefore = s.track(await sums.le(limit));
  const ones = s.track(await isBefore.cast('int32', work));
  const place = s.track(await ones.sum(undefined, work)).reshape([1]);
  // rounding may leave no row behind the limit
  const within = s.track(await s.track(place).minimum(rows - 1));
  return await within.cast('int32', work);
}
