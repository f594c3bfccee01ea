import { describe, expect, it } from 'vitest';
import { countRows } from '../count-rows.js';
import { empty, tensor } from '../create.js';
import type { Device } from '../device.js';
import { gatherRows } from '../gather-rows.js';
import { scatterAdd } from '../scatter-add.js';
import { randomBits } from './random.test-support.js';

/** How large the largest case may be. */
export interface RowsByIndexSizes {
  readonly rows: readonly number[];
  readonly counts: readonly number[];
  readonly columns: readonly number[];
  /** Cases of more elements than this are left out. */
  readonly mostElements: number;
}

/** Most indices name one row. */
function skewed(bits: () => number, rows: number): number {
  return bits() % 10 < 8 ? rows >> 1 : bits() % rows;
}

/** Sums by index and their sizes, by definition. */
function oracle(
  values: Float32Array | Float64Array,
  index: Int32Array,
  rows: number,
  columns: number,
): { readonly sums: Float64Array; readonly sizes: Float64Array } {
  const sums = new Float64Array(rows * columns);
  const sizes = new Float64Array(rows * columns);
  for (let n = 0; n < index.length; n++) {
    const r = index[n] ?? -1;
    if (r < 0 || r >= rows) continue;
    for (let c = 0; c < columns; c++) {
      const value = values[n * columns + c] ?? NaN;
      sums[r * columns + c] = (sums[r * columns + c] ?? NaN) + value;
      sizes[r * columns + c] = (sizes[r * columns + c] ?? NaN) + Math.abs(value);
    }
  }
  return { sums, sizes };
}

/** The largest error in units of what is allowed. */
function worst(
  found: Float32Array | Float64Array,
  { sums, sizes }: ReturnType<typeof oracle>,
  count: number,
): number {
  const unit = found instanceof Float32Array ? 2 ** -24 : 0;
  let most = 0;
  for (let i = 0; i < found.length; i++) {
    const [sum = NaN, size = NaN] = [sums[i], sizes[i]];
    const allowed = unit * Math.abs(sum) + count * 2 ** -52 * size + Number.MIN_VALUE;
    const share = Math.abs((found[i] ?? NaN) - sum) / allowed;
    if (!(share <= most)) most = share;
  }
  return most;
}

/** Sums, counts and rows by index on one device. */
export function rowsByIndexSuite(
  name: string,
  getDevice: () => Device,
  sizes: RowsByIndexSizes,
): void {
  describe(`rows by index on ${name}`, () => {
    it('sums random and skewed rows, the same bits twice', { timeout: 300_000 }, async () => {
      const device = getDevice();
      let cases = 0;
      for (const rows of sizes.rows) {
        for (const count of sizes.counts) {
          for (const columns of sizes.columns) {
            if (Math.max(rows, count) * columns > sizes.mostElements) continue;
            const bits = randomBits(rows + count + columns);
            const dtype = cases % 3 === 2 ? 'float64' : 'float32';
            const arrayOf = dtype === 'float32' ? Float32Array : Float64Array;
            const data = new arrayOf(count * columns).map(() => bits() / 2 ** 31 - 1);
            const pick = cases % 2 === 0 ? skewed : () => bits() % rows;
            const of = Int32Array.from({ length: count }, () => pick(bits, rows));
            const values = await tensor(data, { shape: [count, columns], device });
            const wide = cases % 4 === 3;
            const index = await tensor(of, { dtype: wide ? 'int64' : 'int32', device });
            const sum = await scatterAdd(values, index, rows);
            const again = await scatterAdd(values, index, rows);
            expect([sum.shape, sum.dtype]).toEqual([[rows, columns], dtype]);
            const found = (await sum.toTypedArray()) as Float32Array;
            const what = `${dtype} ${count} x ${columns} to ${rows}`;
            expect(worst(found, oracle(data, of, rows, columns), count), what).toBeLessThanOrEqual(
              1,
            );
            const twice = (await again.toTypedArray()) as Float32Array;
            expect(Buffer.compare(Buffer.from(found.buffer), Buffer.from(twice.buffer)), what).toBe(
              0,
            );
            for (const t of [values, index, sum, again]) t.dispose();
            cases++;
          }
        }
      }
      expect(cases).toBeGreaterThan(20);
    });

    it('leaves out what is outside, and adds in any order if told so', async () => {
      const device = getDevice();
      for (const [rows, columns] of [
        [3, 2],
        [40_000, 3],
      ] as const) {
        const bits = randomBits(rows);
        const count = 5000;
        const data = new Float64Array(count * columns).map(() => bits() / 2 ** 31 - 1);
        const of = Int32Array.from({ length: count }, () => (bits() % (3 * rows)) - rows);
        of[0] = 2 ** 31 - 1;
        of[1] = -(2 ** 31);
        const values = await tensor(data, { shape: [count, columns], device });
        const index = await tensor(of, { device });
        for (const dtype of ['float32', 'float64'] as const) {
          const expected = oracle(data, of, rows, columns);
          const exact = await scatterAdd(values, index, rows, { dtype });
          expect(worst(await exact.toTypedArray(), expected, count)).toBeLessThanOrEqual(1);
          const loose = await scatterAdd(values, index, rows, { dtype, deterministic: false });
          const found = await loose.toTypedArray();
          const error = Math.max(
            ...expected.sums.map((sum, i) => Math.abs((found[i] ?? NaN) - sum)),
          );
          expect(error).toBeLessThan(dtype === 'float32' ? 1e-3 : 1e-10);
          for (const t of [exact, loose]) t.dispose();
        }
        const counts = await countRows(index, rows);
        const ones = oracle(new Float64Array(count).fill(1), of, rows, 1);
        expect(Array.from(await counts.toTypedArray())).toEqual(Array.from(ones.sums));
        for (const t of [values, index, counts]) t.dispose();
      }
    });

    it('takes every pair of types, on a stream of the caller', async () => {
      const device = getDevice();
      const stream = device.createStream();
      const bits = randomBits(5);
      const [count, columns, rows] = [3000, 2, 11];
      const data = Float32Array.from({ length: count * columns }, () => bits() / 2 ** 31 - 1);
      const of = Int32Array.from({ length: count }, () => bits() % rows);
      const expected = oracle(data, of, rows, columns);
      const counted = Array.from(oracle(new Float64Array(count).fill(1), of, rows, 1).sums);
      for (const type of ['int32', 'int64'] as const) {
        const index = await tensor(of, { dtype: type, device });
        for (const to of ['int32', 'int64'] as const) {
          const counts = await countRows(index, rows, { dtype: to, stream });
          expect(Array.from((await counts.toTypedArray()) as Int32Array, Number)).toEqual(counted);
          counts.dispose();
        }
        for (const from of ['float32', 'float64'] as const) {
          const values = await tensor(data, { shape: [count, columns], dtype: from, device });
          for (const dtype of ['float32', 'float64'] as const) {
            const exact = await scatterAdd(values, index, rows, { dtype, stream });
            expect(worst(await exact.toTypedArray(), expected, count)).toBeLessThanOrEqual(1);
            const loose = await scatterAdd(values, index, rows, {
              dtype,
              stream,
              deterministic: false,
            });
            const found = await loose.toTypedArray();
            const errors = expected.sums.map((sum, i) => Math.abs((found[i] ?? NaN) - sum));
            expect(Math.max(...errors)).toBeLessThan(dtype === 'float32' ? 1e-3 : 1e-11);
            for (const t of [exact, loose]) t.dispose();
          }
          values.dispose();
        }
        index.dispose();
      }
      stream.dispose();
    });

    it('counts rows of every number', async () => {
      const device = getDevice();
      for (const rows of [1, 7, 1000, 20_000]) {
        const bits = randomBits(rows);
        const of = Int32Array.from({ length: 30_000 }, () => skewed(bits, rows));
        const expected = new BigInt64Array(rows);
        for (const r of of) expected[r] = (expected[r] ?? 0n) + 1n;
        for (const dtype of ['int32', 'int64'] as const) {
          const index = await tensor(of, { dtype, device });
          const counts = await countRows(index, rows, { dtype: 'int64' });
          expect(await counts.toTypedArray()).toEqual(expected);
          for (const t of [index, counts]) t.dispose();
        }
      }
    });

    it('takes any strides, axes and outputs', async () => {
      const device = getDevice();
      const data = Float32Array.from({ length: 120 }, (_, i) => i * i);
      const cube = await tensor(data, { shape: [5, 6, 4], device });
      const index = await tensor(Int32Array.of(9, 1, 9, 0, 9, 1, 9, 2, 9, 1), { device });
      const every = index.slice([1, null, 2]);
      const turned = cube.permute([0, 2, 1]);
      const backwards = cube.slice([null, null, -1]);
      for (const values of [cube, turned, backwards]) {
        const sum = await scatterAdd(values, every, 3);
        expect(sum.shape).toEqual([3, ...values.shape.slice(1)]);
        const rows = (await values.toTypedArray()) as Float32Array;
        const expected = oracle(rows, Int32Array.of(1, 0, 1, 2, 1), 3, 24);
        expect(await sum.toTypedArray()).toEqual(Float32Array.from(expected.sums));
        // columns of a wider matrix
        const room = empty([3, 2, ...values.shape.slice(1)], { device });
        await room.fill(-1);
        const out = room.slice(null, 0);
        expect(await scatterAdd(values, every, 3, { out })).toBe(out);
        expect(await out.toTypedArray()).toEqual(Float32Array.from(expected.sums));
        expect(new Set(await room.slice(null, 1).toTypedArray())).toEqual(new Set([-1]));
        for (const t of [sum, room, out]) t.dispose();
      }
      const row = cube.slice(0, 0, null).reshape([1, 4]).broadcastTo([5, 4]);
      const repeated = await scatterAdd(row, every, 3);
      expect(await repeated.toNested()).toEqual([
        [0, 1, 4, 9],
        [0, 3, 12, 27],
        [0, 1, 4, 9],
      ]);
      const dense = await tensor(Int32Array.of(7, 7, 7), { device });
      await scatterAdd(cube.slice(null, 0, 1).slice([0, 3]), every.slice([0, 3]), 3, {
        out: empty([3], { device }),
      });
      expect(await (await countRows(every, 3, { out: dense })).toNested()).toEqual([1, 3, 1]);
      for (const t of [cube, index, every, turned, backwards, row, repeated, dense]) t.dispose();
    });

    it('takes rows by index, and NaN or 0 where there are none', async () => {
      const device = getDevice();
      for (const dtype of [
        'float64',
        'float32',
        'float16',
        'bfloat16',
        'int32',
        'uint8',
      ] as const) {
        const none = dtype.includes('float') ? NaN : 0;
        const x = await tensor(Float64Array.of(1, 2, 3, 4, 5, 6), { dtype, shape: [3, 2], device });
        for (const type of ['int32', 'int64'] as const) {
          const index = await tensor(Int32Array.of(2, -1, 0, 3, 2), { dtype: type, device });
          const rows = await gatherRows(x, index);
          expect(await rows.toNested()).toEqual([
            [5, 6],
            [none, none],
            [1, 2],
            [none, none],
            [5, 6],
          ]);
          const column = await gatherRows(x.transpose(), index);
          expect(column.shape).toEqual([5, 3]);
          expect(await column.slice(2).toNested()).toEqual([1, 3, 5]);
          for (const t of [index, rows, column]) t.dispose();
        }
        x.dispose();
      }
      const flags = await tensor([true, false, true], { device });
      const order = await tensor(Int32Array.of(1, 5, 2), { device });
      expect(await (await gatherRows(flags, order)).toNested()).toEqual([false, false, true]);
      const big = await tensor(BigInt64Array.of(2n ** 60n, -1n), { device });
      expect(await (await gatherRows(big, order)).toNested()).toEqual([-1n, 0n, 0n]);
      for (const t of [flags, order, big]) t.dispose();
    });

    it('gives back what it gathers: the sum of rows taken by index is counts times rows', async () => {
      const device = getDevice();
      const bits = randomBits(11);
      const x = await tensor(
        Float32Array.from({ length: 300 }, () => bits() % 1000),
        {
          shape: [100, 3],
          device,
        },
      );
      const index = await tensor(
        Int32Array.from({ length: 2000 }, () => bits() % 100),
        { device },
      );
      const back = await scatterAdd(await gatherRows(x, index), index, 100);
      const counts = await (await countRows(index, 100)).toTypedArray();
      const expected = (await x.toTypedArray()).map(
        (v, i) => v * (counts[Math.floor(i / 3)] ?? NaN),
      );
      expect(await back.toTypedArray()).toEqual(expected);
      for (const t of [x, index, back]) t.dispose();
    });

    it('is 0 for no entries, and empty for no rows', async () => {
      const device = getDevice();
      const index = empty([0], { dtype: 'int32', device });
      const values = empty([0, 2], { device });
      expect(await (await scatterAdd(values, index, 2)).toNested()).toEqual([
        [0, 0],
        [0, 0],
      ]);
      expect(await (await countRows(index, 2)).toNested()).toEqual([0, 0]);
      expect((await gatherRows(values, index)).shape).toEqual([0, 2]);
      const one = await tensor(Int32Array.of(0), { device });
      expect((await scatterAdd(empty([1, 2], { device }), one, 0)).shape).toEqual([0, 2]);
      expect((await scatterAdd(empty([1, 0], { device }), one, 3)).shape).toEqual([3, 0]);
      expect(await (await gatherRows(values, one)).toNested()).toEqual([[NaN, NaN]]);
    });
  });
}
