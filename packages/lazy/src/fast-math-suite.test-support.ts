import { planOf, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { gradient, lazyI, lazyJ, valueAndGradients, type LazyTensor } from './index.js';
import { numbers, upload } from './reference.test-support.js';

const [M, N] = [40, 200];

/** The option fastMath: within its bounds of float64, said by the plan on a GPU in float32, and the same bits elsewhere. */
export function describeFastMath(device: () => Device): void {
  describe('fastMath', () => {
    const isFast = (dtype: string): boolean => device().kind === 'cuda' && dtype === 'float32';
    const made = async (dtype: 'float32' | 'float64', dim: number) => {
      const x = lazyI(await upload(numbers(51, M, dim), dtype, device()), { name: 'x' });
      const y = lazyJ(await upload(numbers(52, N, dim), dtype, device()), { name: 'y' });
      const near = x.sqdist(y).div(dim).add(2);
      const formula: LazyTensor = near
        .inv()
        .concat(near.log(), near.pow(-1.7), near.sin().mul(near.cos()), near.tanh());
      return { x, formula };
    };
    const close = (found: readonly number[], wanted: readonly number[], units: number): void => {
      expect(found.length).toBe(wanted.length);
      for (const [at, value] of wanted.entries()) {
        const size = Math.max(1, Math.abs(value));
        expect(Math.abs((found[at] ?? NaN) - value)).toBeLessThanOrEqual(units * 2 ** -24 * size);
      }
    };

    it.each([
      ['float32', 3],
      ['float32', 150],
      ['float64', 3],
    ] as const)('of %s in %d dimensions', async (dtype, dim) => {
      const { x, formula } = await made(dtype, dim);
      const exact = await made('float64', dim);
      const options = { fastMath: true } as const;
      const sum = await formula.sum('j', options);
      const plain = await formula.sum('j');
      const numbersOf = async (one: typeof sum): Promise<number[]> =>
        [...(await one.toTypedArray())].map(Number);
      const wanted = await numbersOf(await exact.formula.sum('j'));
      // N terms, each within 40 units.
      close(await numbersOf(sum), wanted, N * 40);
      expect((planOf(sum) as { fastMath?: boolean } | undefined)?.fastMath).toBe(
        isFast(dtype) ? true : undefined,
      );
      expect(planOf(plain)).not.toHaveProperty('fastMath');
      if (!isFast(dtype)) expect(await numbersOf(sum)).toEqual(await numbersOf(plain));
      const prepared = await formula.reduction('Sum', 'j').prepare([], options);
      expect(prepared.plan.fastMath).toBe(isFast(dtype) ? true : undefined);
      expect(await numbersOf(prepared([]))).toEqual(await numbersOf(sum));
      // The same call with and without stays apart.
      expect(await numbersOf(await formula.sum('j'))).toEqual(await numbersOf(plain));
      const slope = await gradient(formula.reduction('Mean', 'j'), x, ones(M, 5), options);
      const meant = await gradient(exact.formula.reduction('Mean', 'j'), exact.x, ones(M, 5));
      close(await numbersOf(slope), await numbersOf(meant), 400);
      const both = await valueAndGradients(formula.reduction('Mean', 'j'), { x }, options);
      close(await numbersOf(both.gradients.x), await numbersOf(meant), 400);
    });

    it('is true or false', async () => {
      const { formula } = await made('float32', 3);
      await expect(formula.sum('j', { fastMath: 1 as never })).rejects.toThrow(
        /sum: fastMath is 1. Pass true or false/,
      );
      await expect(formula.sum('j', { use_fast_math: true } as never)).rejects.toThrow(/fastMath/);
    });
  });
}

const ones = (rows: number, dim: number): number[][] =>
  Array.from({ length: rows }, () => Array<number>(dim).fill(1));
