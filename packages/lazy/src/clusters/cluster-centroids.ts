import type { OptionNames } from '@mercer/options';
import { full, isTensor, MercerError, scatterAdd, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, assertTensor, isTraced } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import type { LazyDType } from '../lazy-dtype.js';
import { checkLabels, checkPoints, checkPositive } from './cluster-data.js';
import {
  CLUSTER_OPTIONS,
  clusterCount,
  clusterRanges,
  type ClusterOptions,
} from './cluster-ranges.js';

/** Options of {@link clusterCentroids}. */
export interface CentroidOptions<D extends LazyDType = LazyDType> extends ClusterOptions {
  /** What each row counts, (N); default: 1. */
  readonly weights?: Tensor<D> | undefined;
  /** What a cluster weighs at least where its sum is divided by it. Default: 0, and an empty cluster has a centroid of NaN. */
  readonly minWeight?: number | undefined;
}

const CENTROID_OPTIONS: OptionNames<CentroidOptions> = {
  ...CLUSTER_OPTIONS,
  weights: true,
  minWeight: true,
};

/** What {@link clusterCentroids} gives. */
export interface Centroids<D extends LazyDType = LazyDType> {
  /** (count, D): the weighted mean of each cluster's rows. */
  readonly centroids: Tensor<D>;
  /** (count): the sum of each cluster's weights, or how many rows it has. */
  readonly weights: Tensor<D>;
}

/**
 * The weighted means of clusters and their weights: KeOps' `cluster_centroids`. Both have derivatives by the points and by the weights.
 *
 * @param x (N, D), float32 or float64
 * @param labels (N), int32, sorted or not
 * @throws LazyError INVALID_ARGUMENT; MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 *
 * @example
 * ```ts
 * import { clusterCentroids } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1], [3], [10]], where);
 * const labels = await tensor(Int32Array.of(0, 0, 1), where);
 * const { centroids, weights } = await clusterCentroids(x, labels);
 * console.log(await centroids.toNested(), await weights.toNested()); // [ [ 2 ], [ 10 ] ] [ 2, 1 ]
 * ```
 */
export async function clusterCentroids<D extends LazyDType>(
  x: Tensor<D>,
  labels: Tensor<'int32'>,
  options?: CentroidOptions<D>,
): Promise<Centroids<D>> {
  return centroidsOf('clusterCentroids', x, labels, options, 0);
}

/** What {@link clusterRangesCentroids} gives. */
export interface RangesAndCentroids<D extends LazyDType = LazyDType> extends Centroids<D> {
  /** (count, 2), int64: see `clusterRanges`. */
  readonly ranges: Tensor<'int64'>;
}

/**
 * Ranges, centroids and weights of clusters at once: KeOps' `cluster_ranges_centroids`. A cluster weighs `minWeight` at least, 1e-9 if it is
 * not given, so that an empty one has the centroid 0.
 *
 * @param x (N, D), float32 or float64
 * @param labels (N), int32
 * @throws as `clusterCentroids`
 *
 * @example
 * ```ts
 * import { clusterRangesCentroids } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1], [3], [10]], where);
 * const labels = await tensor(Int32Array.of(0, 0, 2), where);
 * const { ranges, centroids } = await clusterRangesCentroids(x, labels);
 * console.log(await ranges.toNested()); // [ [ 0n, 2n ], [ 2n, 2n ], [ 2n, 3n ] ]
 * console.log(await centroids.toNested()); // [ [ 2 ], [ 0 ], [ 10 ] ]
 * ```
 */
export async function clusterRangesCentroids<D extends LazyDType>(
  x: Tensor<D>,
  labels: Tensor<'int32'>,
  options?: CentroidOptions<D>,
): Promise<RangesAndCentroids<D>> {
  const what = 'clusterRangesCentroids';
  assertNotPreparing(what);
  const given = readOptions(what, options, CENTROID_OPTIONS);
  checkLabels(what, labels, undefined);
  const { stream, signal } = given;
  const count = await clusterCount(what, labels, given.count, { stream, signal });
  const found = await centroidsOf(what, x, labels, { ...given, count }, 1e-9);
  try {
    return { ranges: await clusterRanges(labels, { count, stream, signal }), ...found };
  } catch (error) {
    for (const one of Object.values(found)) if (isTensor(one)) one.dispose();
    throw error;
  }
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED */
function checkWeights(what: string, weights: Tensor, { shape, dtype, label }: Tensor): void {
  if (!isTraced(weights)) assertTensor(weights, `${what}: the weights`);
  if (weights.dtype !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the weights are ${weights.label} and x is ${label}. Cast one of them.`,
    );
  }
  if (weights.shape.length === 1 && weights.shape[0] === shape[0]) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the weights are ${weights.label}. Their shape must be [${shape[0]}], one for each row of x.`,
  );
}

async function centroidsOf<D extends LazyDType>(
  what: string,
  x: Tensor<D>,
  labels: Tensor<'int32'>,
  options: CentroidOptions<D> | undefined,
  least: number,
): Promise<Centroids<D>> {
  const given = readOptions(what, options, CENTROID_OPTIONS);
  const { weights, minWeight = least, stream, signal } = given;
  const work = { stream, signal };
  if (!isTraced(x)) checkPoints(what, 'x', x);
  const [rows = 0] = x.shape;
  checkLabels(what, labels, rows);
  if (minWeight !== 0) checkPositive(what, 'minWeight', minWeight);
  if (weights !== undefined) checkWeights(what, weights, x);
  const count = await clusterCount(what, labels, given.count, work);
  const made: Tensor[] = [];
  // what a derivative reads is its own
  const isTracedCall = isTraced(x) || isTraced(weights);
  const track = <T extends Tensor>(one: T): T => {
    if (!isTracedCall) made.push(one);
    return one;
  };
  try {
    const { dtype, device } = x;
    const column =
      weights === undefined
        ? track(await full([rows, 1], 1, { dtype, device, ...work }))
        : track(weights.reshape([rows, 1]));
    const terms = weights === undefined ? x : track((await x.mul(column)) as Tensor<D>);
    const sums = track(await scatterAdd(terms as Tensor<'float64'>, labels, count, work));
    const totals = track(await scatterAdd(column as Tensor<'float64'>, labels, count, work));
    const divisors = minWeight === 0 ? totals : track(await totals.clamp(minWeight, Infinity));
    const centroids = (await sums.div(divisors)) as Tensor as Tensor<D>;
    return { centroids, weights: totals.reshape([count]) as Tensor as Tensor<D> };
  } finally {
    for (const one of made) one.dispose();
  }
}
