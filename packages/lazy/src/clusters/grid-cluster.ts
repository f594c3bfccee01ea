import { describeList } from '@mercer/options';
import {
  argSort,
  concat,
  cumSum,
  scope,
  take,
  zeros,
  type Pending,
  type Scope,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import { assertNotPreparing, pendingOf } from '@mercer/tensor/operation';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import { boundsOf, checkPoints, WORK_OPTION_NAMES, type Points } from './cluster-data.js';

/** Whole numbers up to which float64 has each. */
const MOST_CELLS = 2 ** 53;

/**
 * The cell of a grid that each point is in: KeOps' `grid_cluster`. Cells that hold points are numbered from 0 on, in the order of their
 * coordinates, the first axis first. There may be any number of axes and of cells. The labels are made on the device; the bounds of the
 * points are read.
 *
 * @param x (N, D), float32 or float64
 * @param size the width of the cells, or one for each axis; a cell goes from k * size to (k + 1) * size
 * @returns (N), int32
 * @throws LazyError INVALID_ARGUMENT; MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DISPOSED
 *
 * @example
 * ```ts
 * import { gridCluster } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[0.1], [2.5], [0.9], [-7]], { device: 'cpu' });
 * const labels = await gridCluster(x, 1);
 * console.log(await labels.toNested()); // [ 1, 2, 1, 0 ]
 * ```
 */
export function gridCluster(
  x: Points,
  size: number | readonly number[],
  options?: WorkOptions,
): Pending<Tensor<'int32'>> {
  return pendingOf(() => cellsOf(x, size, options));
}

async function cellsOf(
  x: Points,
  size: number | readonly number[],
  options: WorkOptions | undefined,
): Promise<Tensor<'int32'>> {
  const what = 'gridCluster';
  assertNotPreparing(what);
  const work = readOptions(what, options, WORK_OPTION_NAMES);
  checkPoints(what, 'x', x);
  const [rows = 0, dim = 1] = x.shape;
  const sizes = typeof size === 'number' ? Array.from({ length: dim }, () => size) : size;
  const isRight =
    Array.isArray(sizes) &&
    sizes.length === dim &&
    sizes.every((one) => typeof one === 'number' && one > 0 && one < Infinity);
  if (!isRight) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: size is ${describeList(size)}. Pass a positive number, or one for each of ${dim} axes.`,
    );
  }
  if (rows === 0) return zeros([0], { dtype: 'int32', device: x.device });
  const { low, high } = await boundsOf(what, 'x', x, work);
  return scope(async (s) => {
    const wide = s.track(await x.cast('float64', work));
    let keys: Tensor<'float64'> | undefined;
    let cells = 1;
    for (const [axis, width] of (sizes as readonly number[]).entries()) {
      const first = Math.floor((low[axis] ?? 0) / width);
      const count = Math.floor((high[axis] ?? 0) / width) - first + 1;
      const isLarge = cells * count > MOST_CELLS;
      const before = isLarge && keys !== undefined ? await compact(s, keys, work) : keys;
      if (isLarge) cells = rows;
      if (cells * count > MOST_CELLS) {
        throw new LazyError(
          'LIMIT',
          `${what}: axis ${axis} has ${count} cells of width ${width}, and ${MOST_CELLS} / ${rows} rows can be told apart. Make them wider.`,
        );
      }
      const place = s.track(wide.slice(null, axis)).div(width).floor().sub(first);
      keys = s.track(await (before === undefined ? place : before.mul(count).add(place)));
      cells *= count;
    }
    const labels = await compact(s, keys as Tensor<'float64'>, work);
    return labels.cast('int32', work);
  });
}

/** Numbers of the different keys, in their order: the key that is the n-th smallest becomes n. */
async function compact(
  s: Scope,
  keys: Tensor<'float64'>,
  work: WorkOptions,
): Promise<Tensor<'float64'>> {
  const order = s.track(await argSort(keys, 0, work));
  const sorted = s.track(await take(keys, order, 0, work));
  const isNew = s.track(await s.track(sorted.slice([1])).ne(s.track(sorted.slice([0, -1]))));
  const steps = s.track(await isNew.cast('int32', work));
  const numbers = s.track(await cumSum(steps, 0, work));
  const zero = s.track(await zeros([1], { dtype: 'float64', device: keys.device, ...work }));
  const wide = s.track(await numbers.cast('float64', work));
  const all = s.track(await concat([zero, wide], 0, work));
  const places = s.track(await argSort(order, 0, work));
  return s.track(await take(all, places, 0, work));
}
