import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { jointReduction, lazyI, lazyJ, rowNumberI, rowNumberJ, rangesFromMatrix } from './index.js';

/** More rows than 31 bits count, all of them one: memory for one number. Ranges leave most pairs out. */
export function describeManyRows(device: () => Device): void {
  const rows = 2 ** 31 + 1000;
  /** Near the beginning, where kernels' numbers end, and at the end. */
  const spans = [
    [3, 40],
    [2 ** 31 - 20, 2 ** 31 + 30],
    [rows - 50, rows],
  ] as const;
  const met = spans.reduce((sum, [start, end]) => sum + end - start, 0);

  const ones = async (): Promise<Tensor<'float64'>> => {
    const one = await tensor([[1]], { dtype: 'float64', device: device() });
    return one.broadcastTo([rows, 1]);
  };

  describe('more than 2^31 reduced rows', () => {
    it.each(['i', 'j'] as const)('of %s have their numbers in 64 bits', async (axis) => {
      const whole = await ones();
      const [here, there] = axis === 'j' ? [lazyJ, lazyI] : [lazyI, lazyJ];
      const number = axis === 'j' ? rowNumberJ() : rowNumberI();
      const targets = await tensor([[rows - 7], [2 ** 31 + 2.25]], {
        dtype: 'float64',
        device: device(),
      });
      const far = number.sub(there(targets)).abs().mul(here(whole));
      const pairs =
        axis === 'j'
          ? rangesFromMatrix([[0, 2]], spans, [[1, 1, 1]])
          : rangesFromMatrix(spans, [[0, 2]], [[1], [1], [1]]);
      const all = jointReduction({
        count: far.ge(0).reduction('Count', axis),
        sum: here(whole).reduction('Sum', axis),
        mean: here(whole).mul(3).reduction('Mean', axis),
        nearest: far.reduction('KMinArgKMin', axis, { k: 2 }),
        least: far.reduction('ArgMin', axis),
      });
      const found = await all.call([], { ranges: pairs, indexDtype: 'int64' });
      const [a, b] = [BigInt(rows - 7), BigInt(2 ** 31 + 2)];
      expect(await found.least.toNested()).toEqual([[a], [b]]);
      expect(await found.nearest.indices.toNested()).toEqual([
        [a, a - 1n],
        [b, b + 1n],
      ]);
      expect(await found.nearest.values.toNested()).toEqual([
        [0, 1],
        [0.25, 0.75],
      ]);
      expect(await found.count.toNested()).toEqual([[met], [met]]);
      expect(await found.sum.toNested()).toEqual([[met], [met]]);
      expect(await found.mean.toNested()).toEqual([[3], [3]]);
    });

    it('have no row numbers in 32 bits', async () => {
      const of = lazyJ(await ones());
      await expect(of.argMin('j')).rejects.toThrow(/row numbers are int32.*indexDtype: 'int64'/);
    });
  });
}
