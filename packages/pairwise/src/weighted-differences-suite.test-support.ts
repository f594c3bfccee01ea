import fc from 'fast-check';
import type { PairwiseDType } from '@mercer/kernels';
import { type Device, planOf, tensor, type Tensor, zeros } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { describeBadInput, describePrepare } from './weighted-differences-calls.test-support.js';
import {
  expectSums,
  NAMES,
  operandsOf,
  uploadAll,
} from './weighted-differences-cases.test-support.js';
import type { ReferenceBatch } from './weighted-differences-reference.test-support.js';
import { weightedDifferences } from './index.js';
import { combinations, together } from './together.test-support.js';

const NORMS = [0.5, 1, 1.3, 1.5, 2, 3, 7.5];

/** What `weightedDifferences` promises, for one device. Every device runs the same suite. */
export function describeWeightedDifferences(
  device: () => Device,
  { points }: { readonly points: number },
): void {
  it('is within 1e-4 of an einsum in float64 at p = 2', async () => {
    const sizes = { m: 1000, n: points, o: 16, k: 64, batch: 4, own: NAMES };
    const operands = operandsOf(sizes, 1);
    const inputs = await uploadAll(operands, 'float32', device());
    const result = await weightedDifferences(...inputs, { p: 2 });
    expect(result.shape).toEqual([4, 16, points, 1000]);
    expect(planOf(result)?.summary).toMatch(/^cdist-grad/);
    // A prime step, so that every row and column of a large result is met.
    const step = points < 1000 ? 127 : 1009;
    expect(await expectSums(result, operands, 2, step)).toBeLessThan(1e-4);
  });

  describe.each(['float32', 'float64'] as const)('%s', (dtype) => {
    it.each(NORMS)('p = %d holds the published bound on every small shape', async (p) => {
      const shapes = [
        [1, 1, 1, 1],
        [5, 1, 2, 9],
        [37, 6, 18, 33],
        [70, 5, 17, 64],
      ] as const;
      await together(shapes, async ([m, n, o, k]) => {
        const operands = operandsOf({ m, n, o, k }, m + k);
        const result = await weightedDifferences(...(await uploadAll(operands, dtype, device())), {
          p,
        });
        expect(result.shape).toEqual([o, n, m]);
        await expectSums(result, operands, p);
      });
    });

    it('takes p from device memory: one value, or one per batch entry', async () => {
      const sizes = { m: 9, n: 4, o: 3, k: 21, batch: 4, own: ['a', 'd'] as const };
      const operands = operandsOf(sizes, 5);
      const inputs = await uploadAll(operands, dtype, device());
      const norms = [0.5, 1, 2, 3.75];
      const many = await tensor(norms, { dtype, device: device() });
      await expectSums(await weightedDifferences(...inputs, { p: many }), operands, norms);
      const one = await tensor([1.25], { dtype, device: device() });
      await expectSums(await weightedDifferences(...inputs, { p: one }), operands, 1.25);
      // p alone may bring the batch
      const single = operandsOf({ m: 9, n: 4, o: 3, k: 21 }, 6);
      const spread = await weightedDifferences(...(await uploadAll(single, dtype, device())), {
        p: many,
      });
      expect(spread.shape).toEqual([4, 3, 4, 9]);
      await expectSums(spread, single, norms);
    });

    it('broadcasts the batch of every operand', async () => {
      for (const shared of NAMES) {
        const own = NAMES.filter((name) => name !== shared);
        const operands = operandsOf({ m: 10, n: 3, o: 2, k: 7, batch: 3, own }, 7);
        for (const ranked of [false, true]) {
          const inputs = await uploadAll(operands, dtype, device(), { ranked });
          const result = await weightedDifferences(...inputs, { p: 1.5 });
          expect(result.shape).toEqual([3, 2, 3, 10]);
          await expectSums(result, operands, 1.5);
        }
      }
    });

    it('takes several batch axes, one of them spread over another operand', async () => {
      const operands = operandsOf({ m: 8, n: 3, o: 2, k: 5, batch: 6, own: ['a'] }, 8);
      const [a, b, c, d] = await uploadAll(operands, dtype, device());
      const grid = a.reshape([2, 3, 5, 8]);
      const result = await weightedDifferences(grid, b, c, d.reshape([1, 1, 3, 8]), { p: 3 });
      expect(result.shape).toEqual([2, 3, 2, 3, 8]);
      await expectSums(result.reshape([6, 2, 3, 8]), operands, 3);
      const outer = operandsOf({ m: 8, n: 3, o: 2, k: 5, batch: 3, own: ['d'] }, 9);
      const [x, y, z, w] = await uploadAll(outer, dtype, device());
      const spread = await weightedDifferences(
        x,
        y,
        z.reshape([1, 1, 2, 5]),
        w.broadcastTo([2, 3, 3, 8]),
      );
      await expectSums(spread.slice(1), outer, 2);
    });

    it('reads leading strides as they are and copies what is not contiguous', async () => {
      const operands = operandsOf({ m: 13, n: 5, o: 4, k: 11, batch: 2, own: ['a', 'c'] }, 3);
      for (const pad of [1, 3, 4]) {
        const padded = await uploadAll(operands, dtype, device(), { pad });
        await expectSums(await weightedDifferences(...padded, { p: 1.3 }), operands, 1.3);
      }
      const [a, b, c, d] = await uploadAll(operands, dtype, device());
      const turned = await a.transpose().clone();
      const flipped = await d.slice([null, null, -1]).clone();
      const result = await weightedDifferences(
        turned.transpose(),
        b,
        c,
        flipped.slice([null, null, -1]),
        {
          p: 2,
        },
      );
      await expectSums(result, operands, 2);
    });

    it('writes into out with gaps, and nothing between', async () => {
      const operands = operandsOf({ m: 10, n: 3, o: 2, k: 9, batch: 2, own: ['b'] }, 4);
      const inputs = await uploadAll(operands, dtype, device());
      const count = 2 * 3 * 4 * 16;
      const whole = await tensor(new Float64Array(count).fill(-7), {
        shape: [2, 3, 4, 16],
        dtype,
        device: device(),
      });
      const out = whole.slice(null, [0, 2], [1, 4], [2, 12]);
      expect(await weightedDifferences(...inputs, { p: 2, out })).toBe(out);
      await expectSums(out, operands, 2);
      const all = [...(await whole.toTypedArray())].map(Number);
      expect(all.filter((value) => value === -7)).toHaveLength(count - 2 * 2 * 3 * 10);
    });

    it('gets exactly nothing from a zero difference', async () => {
      const [m, n, o, k] = [6, 4, 3, 40];
      const points = { batch: 1, rows: n, columns: k, values: new Float64Array(n * k).fill(0.1) };
      const operands = {
        ...operandsOf({ m, n, o, k }, 2),
        b: points,
        d: { ...points, columns: m, values: new Float64Array(n * m).fill(0.1) },
      };
      const inputs = await uploadAll(operands, dtype, device());
      const norms = combinations([0.25, 0.5, 0.9, ...NORMS], [false, true]);
      await together(norms, async ([p, inMemory]) => {
        const norm = inMemory ? await tensor([p], { dtype, device: device() }) : p;
        const sums = await (await weightedDifferences(...inputs, { p: norm })).toTypedArray();
        expect([...sums].every((value) => value === 0)).toBe(true);
      });
    });

    it('keeps nonzero differences, however small, and NaN', async () => {
      const one = (values: number[][]): Promise<Tensor<PairwiseDType>> =>
        tensor(values, { dtype, device: device() });
      const [a, c] = [await one([[1], [1]]), await one([[1, 1]])];
      const tiny = 2 ** -100;
      const matrix = (rows: number, columns: number, values: number[]): ReferenceBatch => ({
        batch: 1,
        rows,
        columns,
        values: Float64Array.from(values),
      });
      const sums = await weightedDifferences(a, await one([[tiny, 0]]), c, await one([[0]]), {
        p: 0.5,
      });
      await expectSums(
        sums,
        {
          a: matrix(2, 1, [1, 1]),
          b: matrix(1, 2, [tiny, 0]),
          c: matrix(1, 2, [1, 1]),
          d: matrix(1, 1, [0]),
        },
        0.5,
      );
      await together(NORMS, async (p) => {
        const broken = await weightedDifferences(a, await one([[1, 2]]), c, await one([[NaN]]), {
          p,
        });
        expect(Number((await broken.toTypedArray())[0])).toBeNaN();
      });
    });

    it('has empty results, and zeros where there is nothing to sum', async () => {
      const make = (shape: number[]): Promise<Tensor<PairwiseDType>> =>
        zeros(shape, { dtype, device: device() });
      for (const [m, n, o] of [
        [0, 2, 3],
        [2, 0, 3],
        [2, 3, 0],
      ] as const) {
        const none = await weightedDifferences(
          await make([4, m]),
          await make([n, 4]),
          await make([o, 4]),
          await make([n, m]),
        );
        expect(none.shape).toEqual([o, n, m]);
      }
      for (const p of [0.5, 1, 1.3, 2]) {
        const blank = await weightedDifferences(
          await make([0, 3]),
          await make([2, 0]),
          await make([2, 0]),
          await make([2, 3]),
          { p },
        );
        expect([...(await blank.toTypedArray())].map(Number)).toEqual(new Array(12).fill(0));
      }
    });
  });

  it('agrees with float64 on random shapes, batches and strides', async () => {
    const counts: Record<string, number> = {};
    const cases = fc.record({
      m: fc.integer({ min: 1, max: 40 }),
      n: fc.integer({ min: 1, max: 6 }),
      o: fc.integer({ min: 1, max: 20 }),
      k: fc.integer({ min: 0, max: 70 }),
      batch: fc.integer({ min: 1, max: 3 }),
      own: fc.subarray([...NAMES]),
      pad: fc.nat(4),
      dtype: fc.constantFrom('float32' as const, 'float64' as const),
      p: fc.constantFrom(1.3, 2),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ pad, dtype, p, ...sizes }) => {
        for (const name of [dtype, `p ${p}`, ...sizes.own]) {
          counts[name] = (counts[name] ?? 0) + 1;
        }
        const operands = operandsOf(sizes, 77);
        const inputs = await uploadAll(operands, dtype, device(), { pad });
        await expectSums(await weightedDifferences(...inputs, { p }), operands, p);
      }),
      { numRuns: 60, seed: 5 },
    );
    console.log(`random sums: ${JSON.stringify(counts)}`);
    expect(Object.keys(counts)).toHaveLength(2 + 2 + 4);
  });

  it('gives the same bits every time', async () => {
    const inputs = await uploadAll(
      operandsOf({ m: 33, n: 7, o: 16, k: 700 }, 1),
      'float32',
      device(),
    );
    const first = await (await weightedDifferences(...inputs, { p: 1.3 })).toTypedArray();
    for (let i = 0; i < 3; i++) {
      expect(await (await weightedDifferences(...inputs, { p: 1.3 })).toTypedArray()).toEqual(
        first,
      );
    }
  });

  it('takes nested arrays', async () => {
    const sums = await weightedDifferences([[1], [2]], [[0, 1]], [[1, 10]], [[2]], {
      device: device(),
    });
    expect(await sums.toNested()).toEqual([[[22]]]);
  });

  describeBadInput(device);
  describePrepare(device);
}
