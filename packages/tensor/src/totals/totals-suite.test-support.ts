import { abs, add, lt, mul, select, sqrt, sub, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { empty, full, tensor, zeros } from '../create.js';
import type { Device } from '../device.js';
import { startProfile } from '../profiler.js';
import { sums, totals } from './totals.js';

const x = variable('x');
const WHAT = {
  terms: { bad: select(lt(abs(x), Infinity), 0, 1), squares: mul(x, x) },
  results: {
    bad: variable('bad'),
    norm: mul(sqrt(variable('squares')), variable('scale')),
    count: add(variable('count'), 1),
  },
};

/** Totals, tested on any device. */
export function totalsSuite(name: string, device: () => Device): void {
  const where = () => ({ device: device() });

  describe(`totals on ${name}`, () => {
    it('are of all elements of all tensors, however they lie and whatever they are', async () => {
      const wide = Float64Array.from({ length: 70_000 }, (_, i) => Math.sin(i));
      using matrix = await tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        where(),
      );
      const tensors = [
        matrix,
        matrix.transpose(),
        matrix.slice(null, 1),
        await tensor(wide, where()),
        await tensor(3, where()),
        empty([0, 4], where()),
        await tensor([0.5, -2], { dtype: 'bfloat16', ...where() }),
        await tensor([7], { dtype: 'int32', ...where() }),
      ];
      const squares = 91 + 91 + 29 + wide.reduce((all, one) => all + one * one, 0) + 9 + 4.25 + 49;
      using count = await full([], 41, { dtype: 'int32', ...where() });
      for (const scale of [1, 2]) {
        for (const some of [tensors, [...tensors].reverse()]) {
          const found = await totals(WHAT, some, {
            numbers: { count },
            parameters: { scale },
            dtype: { count: 'int32', bad: 'float32' },
          });
          expect(Object.keys(found)).toEqual(['bad', 'norm', 'count']);
          expect(await found['count']?.item()).toBe(42);
          expect(await found['bad']?.item()).toBe(0);
          const norm = Number(await found['norm']?.item());
          expect(Math.abs(norm / (scale * Math.sqrt(squares)) - 1)).toBeLessThan(1e-12);
        }
      }
    });

    it('count what is not finite, write what they are given, and are one launch on a GPU', async () => {
      const lists = await Promise.all(
        Array.from({ length: 100 }, (_, s) => zeros([s + 1, 7], where())),
      );
      using count = await full([], 0, { dtype: 'int32', ...where() });
      using bad = await zeros([], where());
      const call = () =>
        totals(WHAT, lists, {
          numbers: { count },
          parameters: { scale: 1 },
          out: { count, bad },
        });
      expect((await call())['count']).toBe(count);
      expect(await bad.item()).toBe(0);
      using part = lists[70]?.slice(2);
      await part?.fill(-Infinity);
      await lists[99]?.fill(NaN);
      const profile = startProfile();
      const { norm } = await call();
      const launches = await profile.stop();
      if (device().kind === 'cuda') expect(launches.length).toBe(1);
      expect(await count.item()).toBe(2);
      expect(await bad.item()).toBe(707);
      expect(await norm?.item()).toBeNaN();
      for (const one of lists) one.dispose();
    });

    it('are the same bits each time', async () => {
      using data = await tensor(
        Float32Array.from({ length: 300_001 }, (_, i) => Math.cos(i * i)),
        where(),
      );
      using count = await zeros([], { dtype: 'int32', ...where() });
      const found = new Set<unknown>();
      for (let call = 0; call < 5; call++) {
        const { norm } = await totals(WHAT, [data], {
          numbers: { count },
          parameters: { scale: 1 },
        });
        found.add(await norm?.item());
      }
      expect(found.size).toBe(1);
    });

    it('of nothing are 0', async () => {
      using none = empty([0], where());
      using count = await zeros([], { dtype: 'int32', ...where() });
      const found = await totals(WHAT, [none], { numbers: { count }, parameters: { scale: 1 } });
      expect(await found['norm']?.item()).toBe(0);
      expect(await found['count']?.item()).toBe(1);
    });
  });

  describe(`sums on ${name}`, () => {
    const [a, b] = [variable('a'), variable('b')];
    const TERMS = [mul(a, b), a, mul(sub(a, b), sub(a, b))];
    const wanted = (first: ArrayLike<number>, second: ArrayLike<number>): number[] => {
      const found = [0, 0, 0];
      for (let i = 0; i < first.length; i++) {
        const [x = NaN, y = NaN] = [first[i], second[i]];
        for (const [r, one] of [x * y, x, (x - y) ** 2].entries()) found[r] = (found[r] ?? 0) + one;
      }
      return found;
    };

    it.each(['float32', 'float64'] as const)(
      'are of all elements, in float64: %s',
      async (dtype) => {
        // around the ends of chunks and parts
        for (const size of [1, 5, 8192, 349_526, 700_001]) {
          const Kind = dtype === 'float32' ? Float32Array : Float64Array;
          const numbers = [1, 2].map((s) => new Kind(size).map((_, i) => Math.sin(s * i * i)));
          const [first, second] = numbers as [Float64Array, Float64Array];
          const vectors = { a: await tensor(first, where()), b: await tensor(second, where()) };
          const found = await sums(TERMS, vectors);
          expect([found.dtype, found.shape]).toEqual(['float64', [3]]);
          for (const [r, one] of wanted(first, second).entries()) {
            expect(Math.abs(((await found.toTypedArray())[r] ?? NaN) - one), `${size} ${r}`).toBeLessThan(1e-13 * size); // prettier-ignore
          }
          for (const one of [found, ...Object.values(vectors)]) one.dispose();
        }
      },
    );

    it('read parts of tensors, the same vector twice, and write what they are given', async () => {
      using matrix = await tensor([[1, 2, 3], [4, 5, 6]], where()); // prettier-ignore
      using out = await zeros([3], { dtype: 'float64', ...where() });
      const [first, second] = [matrix.slice(0), matrix.slice(1)];
      expect(await sums(TERMS, { a: first, b: second }, { out })).toBe(out);
      expect(await out.toNested()).toEqual([32, 6, 27]);
      await sums(TERMS, { a: first, b: first }, { out });
      expect(await out.toNested()).toEqual([14, 6, 0]);
      using backwards = out.slice([null, null, -1]);
      await sums(TERMS, { a: second, b: first }, { out: backwards });
      expect(await out.toNested()).toEqual([27, 15, 32]);
      using none = empty([0], where());
      expect(await (await sums(TERMS, { a: none, b: none })).toNested()).toEqual([0, 0, 0]);
    });

    it('are one launch on a GPU, however many vectors', async () => {
      const vectors = await Promise.all(
        Array.from({ length: 21 }, () => full([30_001], 2, where())),
      );
      const named = vectors.map((one, k) => [`v${k}`, one] as const);
      const terms = named.flatMap(([one]) => [variable(one), mul(variable(one), variable('v0'))]);
      const profile = startProfile();
      using found = await sums(terms, Object.fromEntries(named));
      const launches = await profile.stop();
      if (device().kind === 'cuda') expect(launches.length).toBe(1);
      expect(await found.toNested()).toEqual(named.flatMap(() => [60_002, 120_004]));
      for (const one of vectors) one.dispose();
    });

    it('refuse what does not lie beside each other, and say what', async () => {
      using matrix = await zeros([4, 4], where());
      using vector = await zeros([4], where());
      using wide = await zeros([4], { dtype: 'float64', ...where() });
      using longer = await zeros([5], where());
      const refused = (b: unknown, code: string, text: string) =>
        expect(sums(TERMS, { a: vector, b: b as typeof vector })).rejects.toMatchObject({
          code,
          message: expect.stringContaining(text) as string,
        });
      await refused(matrix, 'SHAPE_MISMATCH', 'sums: b is float32 [4, 4]');
      await refused(matrix.slice(null, 1), 'SHAPE_MISMATCH', 'with strides 4');
      await refused(longer, 'SHAPE_MISMATCH', 'beside a of 4 elements');
      await refused(wide, 'DTYPE_MISMATCH', 'sums: b is float64 [4]');
      await refused([1, 2, 3, 4], 'INVALID_ARGUMENT', 'sums: b');
      const out = { out: vector } as never;
      await expect(sums(TERMS, { a: vector, b: vector }, out)).rejects.toMatchObject({
        code: 'DTYPE_MISMATCH',
      });
    });
  });
}
