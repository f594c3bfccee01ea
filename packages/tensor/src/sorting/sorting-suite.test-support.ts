import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argSort, sort, tensor, topK, unique, type Device, type Tensor } from '../index.js';
import { CountTable } from '../testing/count-table.test-support.js';
import { castAll, hostValues, placed, stored } from '../testing/host-values.test-support.js';
import { LAYOUTS, viewOf } from '../testing/view-layouts.test-support.js';

const layoutOf = fc.constantFrom(...LAYOUTS);
const extentOf = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 5 }) },
  fc.constant(0),
  fc.constant(17),
);

/** Places in the order of their values: an insertion sort, which is stable; NaN last. */
function orderOf(values: readonly (number | bigint)[], descending: boolean): readonly number[] {
  const order: number[] = [];
  for (const [at, value] of values.entries()) {
    const isBefore = (other: number | bigint): boolean => {
      if (Number.isNaN(value)) return false;
      return Number.isNaN(other) || (descending ? value > other : value < other);
    };
    const before = order.findIndex((one) => isBefore(values[one] ?? NaN));
    order.splice(before < 0 ? order.length : before, 0, at);
  }
  return order;
}

/** Sorted elements on a device, against a plain insertion sort. */
export function sortingSuite(where: () => Device): void {
  describe('sort and argSort', () => {
    it('order all dtypes, shapes and layouts', { timeout: 600_000 }, async () => {
      const counts = new CountTable()
        .expect('dtype', DTYPES)
        .expect('layout', LAYOUTS)
        .expect('out', ['none', ...LAYOUTS])
        .expect('order', ['ascending', 'descending'])
        .expect('equal elements', ['some', 'none']);
      const cases = fc.record({
        shape: fc.array(extentOf, { minLength: 1, maxLength: 4 }),
        axis: fc.nat(),
        negative: fc.boolean(),
        descending: fc.boolean(),
        dtype: fc.constantFrom(...DTYPES),
        layout: layoutOf,
        out: fc.option(layoutOf, { nil: undefined }),
        seed: fc.integer({ min: 1, max: 1e6 }),
      });
      await fc.assert(
        fc.asyncProperty(cases, async ({ shape, dtype, layout, descending, ...rest }) => {
          const axis = rest.axis % shape.length;
          const extent = shape[axis] ?? 0;
          const values = hostValues(dtype, shape, rest.seed);
          const x = await placed(values, layout, where());
          const ties: boolean[] = [];
          const source = (index: readonly number[]): number => {
            const row = Array.from({ length: extent }, (_, k) => values.at(index.with(axis, k)));
            ties.push(new Set(row).size < row.length);
            return orderOf(row, descending)[index[axis] ?? 0] ?? 0;
          };
          const indices = castAll(shape, 'int32', (index) => BigInt(source(index)));
          const expected = castAll(shape, dtype, (index) =>
            values.at(index.with(axis, source(index))),
          );
          const along = rest.negative ? axis - shape.length : axis;
          const outOf = (of: DType) => rest.out && viewOf(of, shape, rest.out, where());
          const order = outOf('int32');
          const out = outOf(dtype);
          const found = await argSort(x, along, { descending, out: order as never });
          const sorted = await sort(x, along, { descending, out: out as never });
          if (out !== undefined) expect(sorted).toBe(out);
          if (order !== undefined) expect(found).toBe(order);
          expect(await stored(found)).toEqual(indices);
          expect(await stored(sorted)).toEqual(expected);
          counts.add('dtype', dtype);
          counts.add('layout', layout);
          counts.add('out', rest.out ?? 'none');
          counts.add('order', descending ? 'descending' : 'ascending');
          counts.add('equal elements', ties.includes(true) ? 'some' : 'none');
          for (const one of [x, found, sorted]) one.dispose();
        }),
        { numRuns: 150, seed: 7 },
      );
      expect(counts.report(`sort on ${where().id}`)).toEqual([]);
    });

    it('order a long row, and many rows', async () => {
      const device = where();
      for (const shape of [[70_001], [300, 33]]) {
        const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) =>
          Math.sin(k * k),
        );
        using x = await tensor(data, { shape, device });
        using sorted = await x.sort();
        const found = await sorted.toTypedArray();
        const width = shape.at(-1) ?? 1;
        for (let start = 0; start < data.length; start += width) {
          const row = data.slice(start, start + width).sort();
          expect(found.slice(start, start + width)).toEqual(row);
        }
      }
    });

    it('take the first of them with topK', async () => {
      const device = where();
      const rows = [
        [3, 1, NaN, 3, 2],
        [-1, 0, 5, 5, 7],
      ];
      using x = await tensor(rows, { device });
      for (const largest of [true, false]) {
        for (const k of [0, 1, 4, 5]) {
          const { values, indices } = await topK(x, k, 1, { largest });
          const order = rows.map((row) => orderOf(row, largest).slice(0, k));
          expect(await indices.toNested()).toEqual(order);
          const expected = rows.map((row, r) => order[r]?.map((at) => row[at]));
          expect(await values.toNested()).toEqual(expected);
          values.dispose();
          indices.dispose();
        }
      }
      const { values, indices } = await x.topK(1, 0);
      expect(await values.toNested()).toEqual([[3, 1, 5, 5, 7]]);
      expect(await indices.toNested()).toEqual([[0, 0, 1, 1, 1]]);
    });

    it('give each value once with unique', async () => {
      const device = where();
      const samples: readonly (readonly [DType, readonly (number | bigint)[]])[] = [
        ['float32', [3, NaN, 1, 3, -0, 0, NaN, -Infinity, 1, 3]],
        ['float16', [2, 0.5, 2, -1]],
        ['int64', [2n ** 53n + 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 53n]],
        ['uint8', [7, 7, 7]],
        ['bool', [1, 0, 1]],
        ['float64', []],
      ];
      for (const [dtype, values] of samples) {
        const isSame = (a: unknown, b: unknown): boolean =>
          a === b || (Number.isNaN(a) && Number.isNaN(b));
        const order = orderOf(values, false);
        const firsts = order.filter(
          (at, k) => k === 0 || !isSame(values[at], values[order[k - 1] ?? 0]),
        );
        const data =
          dtype === 'int64' ? BigInt64Array.from(values as bigint[]) : (values as number[]);
        using flat = await tensor(data, { dtype, shape: [values.length], device });
        using x = flat.reshape([1, -1]);
        const found = await unique(x);
        const read = async (one: Tensor): Promise<unknown[]> => [...(await one.toTypedArray())];
        expect(await read(found.values)).toEqual(firsts.map((at) => values[at]));
        expect(await read(found.indices)).toEqual(firsts);
        const run = (at: number): number =>
          firsts.findIndex((first) => isSame(values[first], values[at]));
        expect(found.inverse.shape).toEqual([1, values.length]);
        expect(await read(found.inverse)).toEqual(values.map((_, at) => run(at)));
        expect(await read(found.counts)).toEqual(
          firsts.map((_, k) => values.filter((__, at) => run(at) === k).length),
        );
        expect(found.values.dtype).toBe(dtype);
        for (const one of Object.values(found) as Tensor[]) one.dispose();
      }
      using one = await tensor(5, { device });
      const { values, inverse } = await one.unique();
      expect([await values.toNested(), await inverse.toNested()]).toEqual([[5], 0]);
    });

    it('tell int64 from its neighbours beyond 2^53', async () => {
      const ends = [2n ** 53n, 2n ** 63n - 2n, -(2n ** 53n), -(2n ** 63n), 2n ** 32n, -1n, 0n];
      const values = ends.flatMap((end) => [end + 1n, end, end + 1n]);
      using x = await tensor(BigInt64Array.from(values), { device: where() });
      for (const descending of [false, true]) {
        const order = orderOf(values, descending);
        expect(await x.argSort(0, { descending }).toNested()).toEqual(order);
        const sorted = await x.sort(0, { descending });
        expect(await sorted.toTypedArray()).toEqual(
          BigInt64Array.from(order, (at) => values[at] ?? 0n),
        );
      }
      using turned = x.reshape([7, 3]).transpose();
      const columns = await turned.argSort(1).toNested();
      expect(columns).toEqual(
        [0, 1, 2].map((row) =>
          orderOf(
            values.filter((_, at) => at % 3 === row),
            false,
          ),
        ),
      );
    });

    it('put NaN last and keep the order of zeros', async () => {
      const device = where();
      using x = await tensor([NaN, 0, Infinity, -0, NaN, -Infinity, 1], { device });
      expect(await x.argSort().toNested()).toEqual([5, 1, 3, 6, 2, 0, 4]);
      expect(await x.sort().toNested()).toEqual([-Infinity, 0, -0, 1, Infinity, NaN, NaN]);
      expect(await x.argSort(0, { descending: true }).toNested()).toEqual([2, 6, 1, 3, 5, 0, 4]);
    });
  });
}
