import { tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { jointReduction, lazyI, lazyJ, rowNumberJ } from './index.js';

/** More rows than 31 bits count, all of them one: memory for one number. All pairs are computed; `many-rows.test.ts` has some of them. */
describe('more than 2^31 reduced rows', () => {
  const rows = 2 ** 31 + 1000;

  it('are summed and named in 64 bits, in blocks without being asked', async () => {
    const one = await tensor([[1]], { dtype: 'float64', device: 'cpu' });
    const ones = lazyJ(one.broadcastTo([rows, 1]));
    const last = lazyI(await tensor([[rows - 7]], { dtype: 'float64', device: 'cpu' }));
    const far = rowNumberJ().sub(last).abs().mul(ones);
    const all = jointReduction({
      sum: ones.reduction('Sum', 'j'),
      least: far.reduction('ArgMin', 'j'),
    });
    const { sum, least } = await all.call([], { indexDtype: 'int64' });
    expect(await sum.toNested()).toEqual([[rows]]);
    expect(await least.toNested()).toEqual([[BigInt(rows - 7)]]);
  }, 600_000);
});
