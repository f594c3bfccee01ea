import {
  countRows,
  cumSum,
  scope,
  stack,
  type Pending,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import type { OptionNames } from '@mercer/options';
import { assertNotPreparing, pendingOf } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import { checkLabels, checkWhole, WORK_OPTION_NAMES } from './cluster-data.js';

/** Options of functions of labels. */
export interface ClusterOptions extends WorkOptions {
  /** How many clusters there are. Default: the largest label and one, which is read. Rows with labels beyond are in none. */
  readonly count?: number | undefined;
}

/** Names of {@link ClusterOptions}. */
export const CLUSTER_OPTIONS: OptionNames<ClusterOptions> = { ...WORK_OPTION_NAMES, count: true };

/**
 * The rows of each cluster once they are sorted by it: KeOps' `cluster_ranges`. Row k is [start, end) of cluster k; start is end where a
 * cluster is empty. The sums are of whole numbers, so that they are right for any number of rows.
 *
 * @param labels (N), int32, sorted or not
 * @returns (count, 2), int64: what `fromMatrix` takes
 * @throws LazyError INVALID_ARGUMENT; MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DISPOSED
 *
 * @example
 * ```ts
 * import { clusterRanges } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const labels = await tensor(Int32Array.of(0, 0, 2), { device: 'cpu' });
 * console.log(await (await clusterRanges(labels)).toNested()); // [ [ 0n, 2n ], [ 2n, 2n ], [ 2n, 3n ] ]
 * ```
 */
export function clusterRanges(
  labels: Tensor<'int32'>,
  options?: ClusterOptions,
): Pending<Tensor<'int64'>> {
  return pendingOf(() => rangesOf(labels, options));
}

async function rangesOf(
  labels: Tensor<'int32'>,
  options: ClusterOptions | undefined,
): Promise<Tensor<'int64'>> {
  const what = 'clusterRanges';
  assertNotPreparing(what);
  const { count: given, ...work } = readOptions(what, options, CLUSTER_OPTIONS);
  checkLabels(what, labels, undefined);
  await checkNotNegative(what, labels, work);
  const count = await clusterCount(what, labels, given, work);
  return scope(async (s) => {
    const counts = s.track(await countRows(labels, count, work));
    const ends = s.track(await cumSum<'int32'>(counts, 0, work));
    const starts = s.track(await ends.sub(counts));
    return await stack([starts, ends], 1, work);
  });
}

/** @throws LazyError INVALID_ARGUMENT: rows of such a label are sorted before cluster 0 */
async function checkNotNegative(
  what: string,
  labels: Tensor<'int32'>,
  work: WorkOptions,
): Promise<void> {
  if (labels.size === 0) return;
  using least = await labels.min(undefined, work);
  const label = await least.item();
  if (label >= 0) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: a label is ${label}. Labels are numbers of clusters, from 0 on; leave rows of no cluster out.`,
  );
}

/** How many clusters there are: as many as is said, or as the largest label says. */
export async function clusterCount(
  what: string,
  labels: Tensor<'int32'>,
  given: number | undefined,
  work: WorkOptions,
): Promise<number> {
  if (given !== undefined) return checkWhole(what, 'count', given, 0);
  if (labels.size === 0) return 0;
  assertNotPreparing(`${what} without count`);
  using largest = await labels.max(undefined, work);
  return Math.max(0, (await largest.item()) + 1);
}
