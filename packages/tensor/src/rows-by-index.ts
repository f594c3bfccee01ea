import { add, ge, lt, mul, select, variable } from '@mercer/formula';
import { countRows as counted, type CountRows } from './count-rows.js';
import { gatherRows as gathered, type GatherRows } from './gather-rows.js';
import { scatterAdd as scattered, type ScatterAdd } from './scatter-add.js';
import { map } from './map.js';
import { exampleShape, spreadOver, type AnyCall } from './trace/batching.js';
import { differentiable } from './trace/differentiable.js';
import type { KnownValue, Value } from './trace/primitive.js';

type Rows = Parameters<GatherRows>[0];
type Index = Parameters<GatherRows>[1];
type Terms = Parameters<ScatterAdd>[0];

/**
 * Rows by index: row n of the result is `x[index[n]]`, bit by bit. Where x has no such row (an index below 0 or not below the
 * number of rows) it is NaN, and 0 for dtypes without one: a device that must not wait for the host cannot throw.
 *
 * ```ts
 * import { gatherRows, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1, 2], [3, 4]], where);
 * const index = await tensor(Int32Array.of(1, 1, 7), where);
 * console.log(await (await gatherRows(x, index)).toNested()); // [ [ 3, 4 ], [ 3, 4 ], [ NaN, NaN ] ]
 * ```
 *
 * @param x (rows, ...rest) of any dtype and strides; where the elements of a row are not dense they are copied first
 * @param index int32 or int64 (N), at most 2^31 - 1 entries
 * @returns (N, ...rest), row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED
 */
export const gatherRows: GatherRows = differentiable<
  GatherRows,
  readonly [x: KnownValue, index: Index]
>(
  'gatherRows',
  gathered,
  {
    vjp: (g, { args: [x, index] }) => [() => scatterAdd(g as Terms, index, x.shape[0] ?? 0)],
    jvp: 'linear',
  },
  ({ args: [x, index, ...rest], mapped: [ofX, ofIndex], size, call }) => {
    const by = index as unknown as KnownValue;
    const [rows, ...columns] = exampleShape(x, ofX);
    const own = exampleShape(by, ofIndex);
    if (rows === undefined || own.length !== 1) return undefined;
    const table = ofX === true ? x.contiguous().reshape([size * rows, ...columns]) : x;
    const all = ofX === true ? rowsOfAll(by, ofIndex, size, rows) : by.contiguous().reshape([-1]);
    const found = (call as AnyCall)(table, all, ...rest);
    return found.reshape([size, ...own, ...columns]);
  },
  'one call',
);

const [row, rows] = [variable('row'), variable('rows')];
const inAll = add(mul(variable('example'), rows), row);
const rowOfAll = select(ge(row, 0), select(lt(row, rows), inAll, -1), -1);

/** Row numbers of examples in a table with the rows of all, one example behind the other: -1, which is no row, where an example has none such. */
const rowsOfAll = (index: KnownValue, isMapped: unknown, size: number, count: number): Value =>
  // whole numbers beyond 2^24 need float64
  map(
    rowOfAll,
    { row: spreadOver(index, isMapped, size).cast('float64') as never },
    {
      dtype: 'int64',
      parameters: { rows: count },
      indices: { example: 0 },
    },
  ).reshape([-1]);

/**
 * Sums of rows by index: row r of the result is the sum of `values[n]` over all n with `index[n] = r`, 0 where there is none.
 * An index below 0 or not below `rows` is left out, as JAX's scatters do: a device that must not wait for the host cannot
 * throw. Added in double precision and rounded once: on the CPU in the order of n, whatever the number of threads; on a GPU in
 * an order that depends on sizes and index alone. Nothing waits for the device.
 *
 * ```ts
 * import { scatterAdd, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const points = await tensor([[1, 2], [3, 4], [5, 6]], where);
 * const labels = await tensor(Int32Array.of(2, 0, 2), where);
 * const sums = await scatterAdd(points, labels, 3);
 * console.log(await sums.toNested()); // [ [ 3, 4 ], [ 0, 0 ], [ 6, 8 ] ]
 * ```
 *
 * @param values float32 or float64 (N, ...rest), any strides; where the elements of a row are not dense they are copied first
 * @param index int32 or int64 (N), at most 2^31 - 1 entries
 * @param rows number of rows of the result, at most 2^31 - 1
 * @returns (rows, ...rest), row-major, or `out`
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED
 */
export const scatterAdd: ScatterAdd = differentiable<
  ScatterAdd,
  readonly [values: KnownValue, index: Index]
>(
  'scatterAdd',
  scattered,
  {
    vjp: (g, { args: [, index] }) => [
      () => {
        const [rows = 0, ...rest] = (g as KnownValue).shape;
        const column = [-1, ...rest.map(() => 1)];
        const isAdded = index.ge(0).logicalAnd(index.lt(rows)).reshape(column);
        return isAdded.where(gatherRows(g as Rows, index), 0);
      },
    ],
    jvp: 'linear',
  },
  ({ args: [values, index, ...rest], mapped: [ofValues, ofIndex], size, call }) => {
    const by = index as unknown as KnownValue;
    const [rows, ...options] = rest as readonly unknown[];
    const [count, ...columns] = exampleShape(values, ofValues);
    const isLike = exampleShape(by, ofIndex).join() === `${count}`;
    if (count === undefined || !isLike || typeof rows !== 'number') return undefined;
    const terms = spreadOver(values, ofValues, size)
      .contiguous()
      .reshape([size * count, ...columns]);
    const all = rowsOfAll(by, ofIndex, size, rows);
    return (call as AnyCall)(terms, all, size * rows, ...options).reshape([size, rows, ...columns]);
  },
  'one call',
);

/**
 * How often an index names each row: count r is the number of n with `index[n] = r` (`bincount`). An index below 0 or not below
 * `rows` is left out. Counts are whole numbers, so that they are the same every time on every device.
 *
 * ```ts
 * import { countRows, tensor } from '@mercer/tensor';
 *
 * const labels = await tensor(Int32Array.of(2, 0, 2, -1), { device: 'cpu' });
 * console.log(await (await countRows(labels, 3)).toNested()); // [ 1, 0, 2 ]
 * ```
 *
 * @param index int32 or int64 (N), any stride, at most 2^31 - 1 entries
 * @param rows number of counts, at most 2^31 - 1
 * @returns (rows)
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED
 */
export const countRows: CountRows = differentiable<
  CountRows,
  readonly [index: Index, rows: number, ...rest: readonly unknown[]]
>(
  'countRows',
  counted,
  'constant',
  ({ args: [index, rows, ...rest], mapped: [ofIndex], size, call }) => {
    const by = index as unknown as KnownValue;
    if (exampleShape(by, ofIndex).length !== 1 || typeof rows !== 'number') return undefined;
    const all = rowsOfAll(by, ofIndex, size, rows);
    return (call as AnyCall)(all, size * rows, ...rest).reshape([size, rows]);
  },
  'one call',
);
