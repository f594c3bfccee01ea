import {
  argSort,
  concat,
  full,
  take,
  takeAlongAxis,
  type Scope,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import type { Points } from './cluster-data.js';

/** How points are cut: slabs along some axes, one after the other, and runs of rows along the last. */
export interface Tiling {
  /** The axes, the longest first. */
  readonly axes: readonly number[];
  /** Slabs along each of them but the last. */
  readonly slabs: readonly number[];
  /** Rows of a cluster, but for the last. */
  readonly rows: number;
  /** Rows of a column of clusters. */
  readonly column: number;
}

/** Axes that are cut at most: along more of them clusters of a useful size would be thin on none. */
const MOST_AXES = 3;
/** Rows of a cluster: a warp of a GPU, and what fills its blocks. */
const [LEAST_ROWS, MOST_ROWS] = [32, 512] as const;
/**
 * Widths of clusters, in cutoffs, at which the boxes that meet a cluster hold about twice as many points as the balls of its own, by how
 * many axes are cut.
 */
const WIDTHS = [2, 2, 0.35, 0.195] as const;

/** The tiling of points with these bounds into clusters that are about cubes. */
export function planTiling(
  count: number,
  { low, high }: { readonly low: readonly number[]; readonly high: readonly number[] },
  cutoff: number,
  clusterSize: number | undefined,
): Tiling {
  const extent = (axis: number): number => (high[axis] ?? 0) - (low[axis] ?? 0);
  const axes = [...low.keys()]
    .filter((axis) => extent(axis) > 0)
    .sort((a, b) => extent(b) - extent(a))
    .slice(0, MOST_AXES);
  if (axes.length === 0) axes.push(0);
  const volume = axes.reduce((product, axis) => product * Math.max(extent(axis), 1e-300), 1);
  const width = cutoff * (WIDTHS[axes.length] ?? 1);
  const wanted = (count / volume) * width ** axes.length;
  const rows = clusterSize === undefined ? powerWithin(wanted) : Math.min(clusterSize, count);
  const side = ((volume * rows) / Math.max(1, count)) ** (1 / axes.length);
  const slabs = axes
    .slice(0, -1)
    .map((axis) => Math.min(count, Math.max(1, Math.round(extent(axis) / side))));
  const columns = slabs.reduce((product, one) => product * one, 1);
  const column = rows * Math.max(1, Math.ceil(count / (columns * rows)));
  // rows are rounded up to whole clusters: there may be fewer slabs
  const others = slabs.slice(1).reduce((product, one) => product * one, 1);
  if (slabs.length > 0) slabs[0] = Math.max(1, Math.ceil(count / (others * column)));
  return { axes, slabs, rows, column };
}

const powerWithin = (rows: number): number =>
  Math.min(MOST_ROWS, Math.max(LEAST_ROWS, 2 ** Math.floor(Math.log2(Math.max(1, rows)))));

/**
 * The order of points by a tiling, (N), int32: sorted along the first axis and cut into slabs of as many rows, each of these sorted along the
 * second, and so on (sort-tile-recursive: Leutenegger, Lopez and Edgington, ICDE 1997). So clusters have as many rows wherever points
 * are dense or rare, and those of a column stand one after the other.
 */
export async function tiledOrder(
  s: Scope,
  x: Points,
  { axes, slabs, column }: Tiling,
  work: WorkOptions,
): Promise<Tensor<'int32'>> {
  const [count = 0] = x.shape;
  const padded = slabs.reduce((product, one) => product * one, 1) * column;
  const { dtype, device } = x;
  const rest =
    padded > count
      ? s.track(await full([padded - count], Infinity, { dtype, device, ...work }))
      : undefined;
  let order: Tensor<'int32'> | undefined;
  let groups = 1;
  for (const [level, axis] of axes.entries()) {
    const own = s.track(x.slice(null, axis));
    // what fills the last slab up is sorted behind all points
    const keys = rest === undefined ? own : s.track(await concat([own, rest], 0, work));
    if (order === undefined) order = s.track(await argSort(keys, 0, work));
    else {
      const shape = [groups, padded / groups];
      const sorted = s.track(await take(keys, order, 0, work));
      const places = s.track(await argSort(s.track(sorted.reshape(shape)), 1, work));
      const before = s.track(order.reshape(shape));
      const next = s.track(await takeAlongAxis(before, places, 1, work));
      order = s.track(next.reshape([padded]));
    }
    groups *= slabs[level] ?? 1;
  }
  return s.track(await s.track((order as Tensor<'int32'>).slice([0, count])).clone(work));
}
