import type { Ranges, RowRange } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { isTensor, take, tensor, type Device, type Tensor, type WorkOptions } from '@mercer/tensor';
import { assertNotPreparing, vouchForSpans } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import type { LazyDType } from '../lazy-dtype.js';
import { LazyTensor } from '../lazy-tensor.js';
import { lazyPair } from '../make-lazy.js';
import { WORK_OPTION_NAMES } from './cluster-data.js';

/** Ranges of both directions whose tables of met ranges lie on the device. */
export type PlacedRanges = Ranges<Tensor<'int64'>>;

/** Ranges of rows: a tensor (clusters, 2), as `clusterRanges` gives, or a list. */
export type ClusterTable = Tensor<'int64' | 'int32'> | readonly RowRange[];

/**
 * The ranges of a block-sparse reduction out of a mask over pairs of clusters: KeOps' `from_matrix`, with the pairs of clusters found and kept on
 * the device. The tables of clusters, two numbers for each, are read; that of the pairs is not.
 *
 * A mask as a symbolic matrix is never stored, so that there may be as many clusters as a reduction takes rows: a comparison of distances of
 * centroids, or whatever a coarse solution of a problem says (see the example). A call with `ranges` reads `redrangesJ` and `redrangesI`,
 * int64 (pairs, 2), where they lie: dispose them when they are not needed any more.
 *
 * @param rangesI rows of i of each cluster, ascending
 * @param rangesJ rows of j of each cluster, ascending
 * @param keep (clusters of i, clusters of j): the pairs that count, where it is not 0; a LazyTensor of dim 1, or a tensor
 * @throws LazyError INVALID_ARGUMENT; MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 *
 * @example
 * ```ts
 * import { clusterCentroids, clusterRanges, fromMatrix, gridCluster, lazyI, lazyJ, sortClusters } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[0.1], [5.2], [0.3], [5.1]], { device: 'cpu' });
 * const { rows, labels } = await sortClusters(x, await gridCluster(x, 1));
 * const cells = await clusterRanges(labels);
 * const { centroids } = await clusterCentroids(rows, labels);
 * const near = lazyI(centroids).sqdist(lazyJ(centroids)).le(4);
 * const ranges = await fromMatrix(cells, cells, near);
 * const counts = await lazyI(rows).sqdist(lazyJ(rows)).add(1).sign().sum('j', { ranges });
 * console.log(await counts.toNested()); // [ [ 2 ], [ 2 ], [ 2 ], [ 2 ] ]
 * ```
 */
export async function fromMatrix(
  rangesI: ClusterTable,
  rangesJ: ClusterTable,
  keep: LazyTensor | Tensor,
  options?: WorkOptions,
): Promise<PlacedRanges> {
  const what = 'fromMatrix';
  assertNotPreparing(what);
  const work = readOptions(what, options, WORK_OPTION_NAMES);
  if (!(keep instanceof LazyTensor) && !isTensor(keep)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: keep is ${describeValue(keep)}. Pass a LazyTensor or a tensor; rangesFromMatrix takes arrays of the host.`,
    );
  }
  const listI = await listOf(what, 'rangesI', rangesI, work);
  const listJ = rangesJ === rangesI ? listI : await listOf(what, 'rangesJ', rangesJ, work);
  const made: Tensor[] = [];
  try {
    const mask = await maskOf(keep, work, made);
    checkExtents(what, mask, listI.length, listJ.length);
    const device = deviceOf(mask);
    const to = { device, ...work };
    const [i, j] = [await tableOf(listI, to, made), await tableOf(listJ, to, made)];
    const forward = await placed(mask, 'j', { kept: listI, reduced: listJ, table: j }, work);
    try {
      const back = await placed(mask, 'i', { kept: listJ, reduced: listI, table: i }, work);
      return {
        rangesI: listI,
        slicesI: forward.slices,
        redrangesJ: forward.met,
        rangesJ: listJ,
        slicesJ: back.slices,
        redrangesI: back.met,
      };
    } catch (error) {
      forward.met.dispose();
      throw error;
    }
  } finally {
    for (const one of made) one.dispose();
  }
}

/** Clusters as a list of the host. @throws LazyError INVALID_ARGUMENT where they do not ascend */
async function listOf(
  what: string,
  name: string,
  given: ClusterTable,
  work: WorkOptions,
): Promise<readonly RowRange[]> {
  const list = isTensor(given) ? await rowsOf(what, name, given, work) : given;
  if (!Array.isArray(list)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(given)}. Pass ranges [start, end], as clusterRanges gives them.`,
    );
  }
  let before = 0;
  for (const [k, range] of (list as readonly unknown[]).entries()) {
    const pair: readonly unknown[] = Array.isArray(range) ? range : [range];
    const [start, end] = pair as RowRange;
    const isRange = pair.length === 2 && Number.isSafeInteger(start) && Number.isSafeInteger(end);
    if (isRange && start >= before && end >= start) {
      before = end;
      continue;
    }
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${name}[${k}] is [${String(start)}, ${String(end)}], and the range before it ends at ${before}. Ranges are whole numbers [start, end] that ascend and do not overlap, as clusterRanges gives them.`,
    );
  }
  return list as readonly RowRange[];
}

async function rowsOf(
  what: string,
  name: string,
  given: Tensor<'int64' | 'int32'>,
  work: WorkOptions,
): Promise<readonly RowRange[]> {
  const { dtype, shape, label } = given;
  if (!['int64', 'int32'].includes(dtype) || shape.length !== 2 || shape[1] !== 2) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${label}. Pass int64 (clusters, 2), as clusterRanges gives it, or a list of [start, end].`,
    );
  }
  const words = await given.toTypedArray(work);
  return Array.from({ length: words.length / 2 }, (_, at): RowRange => [
    Number(words[2 * at]),
    Number(words[2 * at + 1]),
  ]);
}

async function maskOf(
  keep: LazyTensor | Tensor,
  work: WorkOptions,
  made: Tensor[],
): Promise<LazyTensor> {
  if (keep instanceof LazyTensor) return keep;
  if (keep.dtype === 'float32' || keep.dtype === 'float64') {
    return lazyPair(keep as Tensor<LazyDType>);
  }
  const numbers = await keep.cast('float32', work);
  made.push(numbers);
  return lazyPair(numbers);
}

function checkExtents(what: string, { shape }: LazyTensor, rowsI: number, rowsJ: number): void {
  // a side that no input follows has one row
  const [i, j] = [shape.at(-3) ?? 1, shape.at(-2) ?? 1];
  if (shape.length === 3 && shape.at(-1) === 1 && i === rowsI && j === rowsJ) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: keep is (${shape.join(', ')}), and there are ${rowsI} ranges of i and ${rowsJ} of j. Pass one number for every pair of clusters, (${rowsI}, ${rowsJ}).`,
  );
}

/** Where the inputs of a mask are. */
function deviceOf({ inputs }: LazyTensor): Device | undefined {
  return inputs.find(({ device }) => device !== undefined)?.device;
}

async function tableOf(
  list: readonly RowRange[],
  options: WorkOptions & { readonly device: Device | undefined },
  made: Tensor[],
): Promise<Tensor<'int64'>> {
  const words = new BigInt64Array(2 * list.length);
  for (const [at, range] of list.entries()) {
    for (const side of [0, 1] as const) words[2 * at + side] = BigInt(range[side]);
  }
  const placed = await tensor(words, { ...options, shape: [list.length, 2] });
  made.push(placed);
  return placed;
}

interface Sides {
  readonly kept: readonly RowRange[];
  readonly reduced: readonly RowRange[];
  /** The ranges of the reduced side on the device. */
  readonly table: Tensor<'int64'>;
}

/** The ranges that each kept cluster meets. */
async function placed(
  mask: LazyTensor,
  axis: 'i' | 'j',
  { kept, reduced, table }: Sides,
  work: WorkOptions,
): Promise<{ readonly slices: readonly number[]; readonly met: Tensor<'int64'> }> {
  const { offsets, indices } = await mask.nonzero(axis, work);
  try {
    const met = await take(table, indices, 0, work);
    const slices = (await slicesOf(offsets, work)).slice(0, kept.length);
    const mean = met.shape[0] === 0 ? 0 : rowsIn(reduced) / reduced.length;
    const pairs = pairsOf(kept, slices, mean);
    vouchForSpans(met, { reducedRows: reduced.at(-1)?.[1] ?? 0, pairs });
    return { slices, met };
  } finally {
    for (const one of [offsets, indices]) one.dispose();
  }
}

const rowsIn = (ranges: readonly RowRange[]): number =>
  ranges.reduce((sum, [start, end]) => sum + end - start, 0);

/** The pairs of rows, with so many rows in each range that is met. */
export function pairsOf(
  kept: readonly RowRange[],
  slices: readonly number[],
  metRows: number,
): number {
  let pairs = 0;
  for (const [k, [start, end]] of kept.entries()) {
    pairs += (end - start) * ((slices[k] ?? 0) - (slices[k - 1] ?? 0)) * metRows;
  }
  return pairs;
}

/** The ends of slices, which follow the first of the offsets. */
export async function slicesOf(
  offsets: Tensor<'int64'>,
  work: WorkOptions,
): Promise<readonly number[]> {
  return Array.from(await offsets.toTypedArray(work), Number).slice(1);
}
