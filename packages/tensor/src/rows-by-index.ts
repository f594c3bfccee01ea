import { gatherRows as gathered, type GatherRows } from './gather-rows.js';
import { scatterAdd as scattered, type ScatterAdd } from './scatter-add.js';
import { differentiable } from './trace/differentiable.js';
import type { KnownValue } from './trace/primitive.js';

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
>('gatherRows', gathered, {
  vjp: (g, { args: [x, index] }) => [() => scatterAdd(g as Terms, index, x.shape[0] ?? 0)],
  jvp: 'linear',
});

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
>('scatterAdd', scattered, {
  vjp: (g, { args: [, index] }) => [
    () => {
      const [rows = 0, ...rest] = (g as KnownValue).shape;
      const column = [-1, ...rest.map(() => 1)];
      const isAdded = index.ge(0).logicalAnd(index.lt(rows)).reshape(column);
      return isAdded.where(gatherRows(g as Rows, index), 0);
    },
  ],
  jvp: 'linear',
});
