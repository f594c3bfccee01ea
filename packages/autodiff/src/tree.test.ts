import { tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { leavesOrLater } from './tree.js';

describe('the leaves of a tree', () => {
  it('are there at once where none is pending, with their paths', async () => {
    using x = await tensor([1, 2], { device: 'cpu' });
    using y = await tensor([3], { device: 'cpu' });
    expect(leavesOrLater({ w: [x], b: y }, 'p')).toEqual([
      { value: x, path: 'p.w[0]' },
      { value: y, path: 'p.b' },
    ]);
  });

  it('are waited for where one is pending, in their order', async () => {
    using y = await tensor([3], { device: 'cpu' });
    const x = tensor([1, 2], { device: 'cpu' });
    const found = leavesOrLater([x, y], 'p');
    expect(found).toBeInstanceOf(Promise);
    using value = await x;
    expect(await found).toEqual([
      { value, path: 'p[0]' },
      { value: y, path: 'p[1]' },
    ]);
  });

  it('are refused by a rejection, so that others that are pending are heard', async () => {
    const refused = leavesOrLater(['no tensor'], 'p');
    await expect(refused).rejects.toThrow('p[0] is "no tensor"');
  });
});
