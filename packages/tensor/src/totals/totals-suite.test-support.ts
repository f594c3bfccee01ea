import { abs, add, lt, mul, select, sqrt, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { empty, full, tensor, zeros } from '../create.js';
import type { Device } from '../device.js';
import { startProfile } from '../profiler.js';
import { totals } from './totals.js';

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
}
