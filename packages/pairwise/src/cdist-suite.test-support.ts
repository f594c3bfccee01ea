import { assert, describe, expect, it } from 'vitest';
import {
  type Device,
  empty,
  type MercerErrorCode,
  planOf,
  tensor,
  type Tensor,
  zeros,
} from '@mercer/tensor';
import { cdist } from './index.js';
import {
  distanceOracle,
  referenceCdist,
  type DistanceOracle,
  type ReferenceMatrix,
} from './cdist-reference.test-support.js';
import { expectCode, matrix, ORDERS, UNIT, upload } from './matrices.test-support.js';
import { combinations, covering, coveringPairs, together } from './together.test-support.js';

/** Expects every distance of a result within the published bound. */
export async function expectOracle(
  result: Tensor,
  { p, columns, values, bounds }: DistanceOracle,
): Promise<void> {
  const dtype = result.dtype === 'float64' ? 'float64' : 'float32';
  const actual = (await result.toTypedArray()) as Float32Array | Float64Array;
  expect(actual.length).toBe(values.length);
  // The oracle itself is float64: against float64 results its own rounding counts as well.
  const unit = UNIT[dtype] * (dtype === 'float64' ? 2 : 1);
  for (const [i, want] of values.entries()) {
    const got = actual[i] ?? NaN;
    const limit = (bounds[i] ?? NaN) * unit * Math.abs(want);
    if (!(Math.abs(got - want) <= limit)) {
      assert.fail(
        `p=${p} [${Math.floor(i / columns)}, ${i % columns}]: ${got}, expected ${want} within ${limit}`,
      );
    }
  }
}

/** The same for the distances of all rows of two matrices. */
export async function expectDistances(
  result: Tensor,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  p: number,
  skipEpilogue = false,
): Promise<void> {
  await expectOracle(result, distanceOracle(a, b, p, skipEpilogue));
}

const NORMS = [0.5, 1, 1.3, 1.5, 2, 2.7, 3, 4, Infinity];

/** What `cdist` promises, for one device. `full`: every norm and layout in both dtypes, else they take turns. */
export function describeCdist(device: () => Device, { full }: { readonly full: boolean }): void {
  describe.each([
    ['float32', 0],
    ['float64', 1],
  ] as const)('%s', (dtype, turn) => {
    it.each(covering(NORMS, turn, full))(
      'p = %d holds the published bound on every small shape',
      async (p) => {
        const shapes = [
          [1, 1, 1],
          [1, 37, 5],
          [33, 1, 64],
          [17, 29, 3],
          [65, 70, 33],
          [130, 140, 100],
        ] as const;
        await together(shapes, async ([m, n, k]) => {
          const [a, b] = [matrix(m, k, 1 + m), matrix(n, k, 1000 + n)];
          const x = await upload(a, 'row', 0, dtype, device());
          const y = await upload(b, 'row', 0, dtype, device());
          const result = await cdist(x, y, { p });
          expect(result.shape).toEqual([m, n]);
          expect(planOf(result)?.summary).toMatch(/\w/);
          await expectDistances(result, a, b, p);
        });
      },
    );

    it('takes every combination of layouts, padded and odd, for a, b and out', async () => {
      const [a, b] = [matrix(45, 19, 3), matrix(51, 19, 4)];
      const blank = { rows: a.rows, columns: b.rows, values: new Float64Array(45 * 51) };
      const oracles = [1, 1.3, 2].map((p) => distanceOracle(a, b, p));
      const choose = full ? combinations : coveringPairs;
      const cases = choose(ORDERS, ORDERS, ORDERS, [0, 1, 4], oracles);
      expect(cases.length).toBeGreaterThanOrEqual(full ? 72 : 9);
      await together(cases, async ([orderA, orderB, orderOut, pad, oracle]) => {
        const x = await upload(a, orderA, pad, dtype, device());
        const y = await upload(b, orderB, pad, dtype, device());
        const out = await upload(blank, orderOut, pad, dtype, device());
        expect(await cdist(x, y, { p: oracle.p, out })).toBe(out);
        await expectOracle(out, oracle);
      });
    });

    it('leaves the padding of out untouched', async () => {
      const [a, b] = [matrix(20, 7, 3), matrix(31, 7, 4)];
      const x = await upload(a, 'row', 0, dtype, device());
      const y = await upload(b, 'row', 0, dtype, device());
      const whole = await tensor(new Float64Array(20 * 40).fill(-7), {
        shape: [20, 40],
        dtype,
        device: device(),
      });
      await cdist(x, y, { out: whole.slice(null, [0, 31]) });
      const rest = await whole.slice(null, [31, 40]).toTypedArray();
      expect([...rest].every((value) => value === -7)).toBe(true);
    });

    it('broadcasts batches', async () => {
      const k = 6;
      const parts = [0, 1, 2].map((i) => matrix(9, k, 50 + i));
      const shared = matrix(11, k, 77);
      const stacked = Float64Array.from(parts.flatMap((part) => [...part.values]));
      const x = await tensor(stacked, { shape: [3, 9, k], dtype, device: device() });
      const y = await upload(shared, 'row', 0, dtype, device());
      await together([1, 1.3, 2, Infinity], async (p) => {
        const forward = await cdist(x, y, { p });
        expect(forward.shape).toEqual([3, 9, 11]);
        const backward = await cdist(y, x, { p });
        expect(backward.shape).toEqual([3, 11, 9]);
        for (const [i, part] of parts.entries()) {
          await expectDistances(forward.slice(i), part, shared, p);
          await expectDistances(backward.slice(i), shared, part, p);
        }
        const grid = await cdist(x.reshape([3, 1, 9, k]), x, { p });
        expect(grid.shape).toEqual([3, 3, 9, 9]);
        await expectDistances(grid.slice(2, 1), parts[2] ?? shared, parts[1] ?? shared, p);
      });
    });

    it('reads inputs of any strides, reversed ones included', async () => {
      const source = matrix(12, 10, 5);
      const x = await upload(source, 'row', 0, dtype, device());
      const reversed = x.slice([null, null, -1], [null, null, 2]);
      const expected: ReferenceMatrix = {
        rows: 12,
        columns: 5,
        values: Float64Array.from({ length: 60 }, (_, i) => {
          const [row, column] = [11 - Math.floor(i / 5), 2 * (i % 5)];
          return source.values[row * 10 + column] ?? NaN;
        }),
      };
      const result = await cdist(reversed, reversed, { p: 1.3 });
      await expectDistances(result, expected, expected, 1.3);
    });

    it.each(covering([0.25, 1.25, 3.75], turn, full))('p = %d is a product of roots', async (p) => {
      const [a, b] = [matrix(12, 20, 3), matrix(9, 20, 4)];
      const x = await upload(a, 'row', 0, dtype, device());
      const y = await upload(b, 'row', 0, dtype, device());
      await expectDistances(await cdist(x, y, { p }), a, b, p);
    });

    it('skips the root on request, and only then', async () => {
      const [a, b] = [matrix(8, 20, 3), matrix(9, 20, 4)];
      const x = await upload(a, 'row', 0, dtype, device());
      const y = await upload(b, 'row', 0, dtype, device());
      await together([1.3, 2, 3], async (p) => {
        await expectDistances(await cdist(x, y, { p, skipEpilogue: true }), a, b, p, true);
        await expectDistances(await cdist(x, y, { p }), a, b, p);
      });
    });

    it('has empty results, and zeros where there is nothing to sum', async () => {
      const make = (shape: number[]): Promise<Tensor<'float32' | 'float64'>> =>
        zeros(shape, { dtype, device: device() });
      expect((await cdist(await make([0, 3]), await make([4, 3]))).shape).toEqual([0, 4]);
      expect((await cdist(await make([4, 3]), await make([0, 3]))).shape).toEqual([4, 0]);
      expect((await cdist(await make([0, 2, 3]), await make([1, 2, 3]))).shape).toEqual([0, 2, 2]);
      const [some, none] = [await make([3, 1, 2, 3]), await make([0, 2, 3])];
      expect((await cdist(some, none)).shape).toEqual([3, 0, 2, 2]);
      expect((await cdist(none, some)).shape).toEqual([3, 0, 2, 2]);
      for (const p of [1, 1.3, 2, Infinity]) {
        const blank = await cdist(await make([3, 0]), await make([2, 0]), { p });
        expect([...(await blank.toTypedArray())].map(Number)).toEqual([0, 0, 0, 0, 0, 0]);
      }
    });

    it.each(covering(NORMS, turn + 1, full))('p = %d carries NaN and infinity', async (p) => {
      const rows = [
        [0, 0, 0, 0, 0],
        [1, NaN, 0, 0, 0],
        [0, 0, Infinity, 0, 0],
        [0, 0, -Infinity, 0, 0],
        [0, 0, 0, 3, 0],
      ];
      const values: ReferenceMatrix = {
        rows: 5,
        columns: 5,
        values: Float64Array.from(rows.flat()),
      };
      const x = await upload(values, 'row', 0, dtype, device());
      const actual = await (await cdist(x, x, { p })).toTypedArray();
      const expected = referenceCdist(values, values, p);
      for (const [i, want] of expected.entries()) {
        const got = Number(actual[i]);
        if (Number.isFinite(want)) expect(got).toBeCloseTo(want, 4);
        else expect(got, `element ${i}`).toBe(want);
      }
    });

    it.each([1, 2, Infinity])('p = %d keeps sums below the normal range', async (p) => {
      // Sums of multiples of it, and of their squares for p = 2, are exact.
      const smallest = dtype === 'float32' ? 2 ** -149 : 2 ** -1074;
      const unit = p === 2 ? (dtype === 'float32' ? 2 ** -74 : 2 ** -537) : smallest;
      const sizes = [0, 1, 2, 3, 50, 1000];
      for (const columns of [1, 40]) {
        const values = new Float64Array(sizes.length * columns);
        sizes.forEach((size, row) => (values[row * columns] = size * unit));
        const x = await upload({ rows: 6, columns, values }, 'row', 0, dtype, device());
        const zero = await zeros([1, columns], { dtype, device: device() });
        const actual = await (await cdist(x, zero, { p })).toTypedArray();
        expect([...actual].map((value) => value / unit)).toEqual(sizes);
      }
    });

    it('is exactly 0 between equal rows', async () => {
      const a = matrix(40, 65, 9);
      const x = await upload(a, 'row', 0, dtype, device());
      await together(covering(NORMS, turn + 1, full), async (p) => {
        const values = await (await cdist(x, x, { p })).toTypedArray();
        for (let i = 0; i < 40; i++) expect(values[i * 41]).toBe(0);
      });
    });
  });

  it('gives the same bits every time', async () => {
    const x = await upload(matrix(70, 300, 1), 'row', 0, 'float32', device());
    const first = await (await cdist(x, x, { p: 1.3 })).toTypedArray();
    for (let i = 0; i < 3; i++) {
      expect(await (await cdist(x, x, { p: 1.3 })).toTypedArray()).toEqual(first);
    }
  });

  it('takes nested and typed arrays', async () => {
    const d = await cdist([[0, 0]], [[3, 4]], { device: device() });
    expect(await d.toNested()).toEqual([[5]]);
  });

  describe('bad input', () => {
    const make = (shape: number[]): Promise<Tensor<'float32'>> =>
      zeros(shape, { dtype: 'float32', device: device() });
    const makeAs = (shape: number[], dtype: 'float64' | 'int32'): Promise<Tensor> =>
      zeros(shape, { dtype, device: device() });
    /** What a program without type checks may pass. */
    const unchecked = cdist as unknown as (
      ...args: readonly [Tensor, Tensor, { out?: Tensor }?]
    ) => Promise<Tensor>;

    it('names both feature counts', async () => {
      const message = await expectCode(
        cdist(await make([3, 4]), await make([3, 5])),
        'SHAPE_MISMATCH',
      );
      expect(message).toContain('4 features');
      expect(message).toContain('5');
    });

    it('refuses rank 1', async () => {
      expect(
        await expectCode(cdist(await make([3]), await make([3, 3])), 'SHAPE_MISMATCH'),
      ).toContain('Reshape');
    });

    it('refuses batches that do not broadcast', async () => {
      await expectCode(cdist(await make([2, 3, 4]), await make([3, 3, 4])), 'SHAPE_MISMATCH');
    });

    it('refuses mixed and unsupported dtypes', async () => {
      await expectCode(
        unchecked(await make([2, 3]), await makeAs([2, 3], 'float64')),
        'DTYPE_MISMATCH',
      );
      await expectCode(
        unchecked(await makeAs([2, 3], 'int32'), await makeAs([2, 3], 'int32')),
        'DTYPE_MISMATCH',
      );
    });

    it.each([0, -1, NaN, -Infinity])('refuses p = %d', async (p) => {
      const x = await make([2, 3]);
      expect(await expectCode(cdist(x, x, { p }), 'INVALID_ARGUMENT')).toContain(String(p));
    });

    it('refuses a wrong out', async () => {
      const x = await make([4, 3]);
      await expectCode(cdist(x, x, { out: await make([4, 5]) }), 'SHAPE_MISMATCH');
      const counts = await makeAs([4, 4], 'int32');
      await expectCode(unchecked(x, x, { out: counts }), 'DTYPE_MISMATCH');
      const wide = await make([4, 8]);
      await expectCode(cdist(x, x, { out: wide.slice(null, [null, null, 2]) }), 'NOT_CONTIGUOUS');
      const square = await make([4, 4]);
      await expectCode(cdist(x, x, { out: square.slice([null, null, -1]) }), 'NOT_CONTIGUOUS');
    });

    it('refuses an out that overlaps an input or itself, and leaves the input alone', async () => {
      const x = await make([4, 4]);
      await expectCode(cdist(x, x, { out: x }), 'OVERLAP');
      const row = await make([1, 4]);
      await expectCode(cdist(x, x, { out: row.broadcastTo([4, 4]) }), 'OVERLAP');
      expect([...(await x.toTypedArray())].every((v) => v === 0)).toBe(true);
    });

    it('refuses disposed tensors', async () => {
      const x = await make([2, 2]);
      const gone = await make([2, 2]);
      gone.dispose();
      await expectCode(cdist(x, gone), 'DISPOSED');
      await expectCode(cdist(x, x, { out: gone }), 'DISPOSED');
    });
  });

  describe('prepare', () => {
    it('fixes dtype, layout, K and p, and leaves M, N and the batch free', async () => {
      const a = matrix(40, 21, 5);
      const b = matrix(33, 21, 6);
      const x = await upload(a, 'row', 0, 'float32', device());
      const y = await upload(b, 'row', 0, 'float32', device());
      const k = await cdist.prepare(x, y, { p: 1.3 });
      expect(k.plan.summary).toMatch(/\w/);
      await expectDistances(k(x, y), a, b, 1.3);
      const odd = { rows: 7, columns: 21, values: a.values.slice(33 * 21) };
      await expectDistances(k(x.slice([33, 40]), y), odd, b, 1.3);
      const out = empty([40, 33], { dtype: 'float32', device: device() });
      expect(k(x, y, { out })).toBe(out);
      await expectDistances(out, a, b, 1.3);
    });

    it('takes single rows and single columns of results and inputs', async () => {
      for (const columns of [1, 6]) {
        const a = matrix(9, columns, 5);
        const b = matrix(4, columns, 6);
        const x = await upload(a, 'row', 0, 'float32', device());
        const y = await upload(b, 'row', 0, 'float32', device());
        const k = await cdist.prepare(x, y, { p: 1 });
        for (const m of [1, 9])
          for (const n of [1, 4]) {
            const left = { ...a, rows: m, values: a.values.slice(0, m * columns) };
            const right = { ...b, rows: n, values: b.values.slice(0, n * columns) };
            const fresh = k(x.slice([0, m]), y.slice([0, n]));
            await expectDistances(fresh, left, right, 1);
            const again = k(x.slice([0, m]), y.slice([0, n]), { out: fresh });
            await expectDistances(again, left, right, 1);
          }
      }
    });

    it('refuses what it was not prepared for', async () => {
      const x = await zeros([4, 6], { dtype: 'float32', device: device() });
      const k = await cdist.prepare(x, x, { p: 2 });
      const refuse = async (y: Tensor, code: MercerErrorCode): Promise<void> => {
        await expectCode((async () => k(y as Tensor<'float32'>, y as Tensor<'float32'>))(), code);
      };
      await refuse(await zeros([4, 5], { dtype: 'float32', device: device() }), 'SHAPE_MISMATCH');
      await refuse(await zeros([4, 6], { dtype: 'float64', device: device() }), 'DTYPE_MISMATCH');
      const turned = await zeros([6, 4], { dtype: 'float32', device: device() });
      await refuse(turned.transpose(), 'NOT_CONTIGUOUS');
    });
  });
}
