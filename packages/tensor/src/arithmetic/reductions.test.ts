import { describe, expect, it } from 'vitest';
import { device, startProfile, tensor } from '../index.js';
import { reductionsSuite } from './reductions-suite.test-support.js';

describe('reductions over axes on the CPU', () => {
  reductionsSuite(() => device('cpu'), { whole: process.env['MERCER_TEST_FULL'] === '1' });

  it('are one built-in function, behind one kernel for the chain that they are taken of', async () => {
    const x = await tensor([[1, 2, 3]], { device: 'cpu' });
    const count = async (work: () => Promise<unknown>): Promise<number> => {
      const profile = startProfile();
      await work();
      return (await profile.stop()).length;
    };
    expect(await count(() => x.sum(1))).toBe(1);
    expect(await count(() => x.sub(1).mul(2).square().mean())).toBe(2);
  });
});
