import { tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ } from '../index.js';
import { describeGroups, groupInMemory } from './group-suite.test-support.js';

describe('reductions of a group of processes, gathered through memory', () => {
  const group = groupInMemory(3);
  describeGroups(() => group);

  it('are not made of what is no group, and not prepared', async () => {
    const x = await tensor([[1, 2]], { device: 'cpu' });
    const square = lazyI(x).sub(lazyJ(x)).square();
    await expect(square.sum('j', { group: 3 as never })).rejects.toThrow(
      /group is 3. Pass what joinGroup\(\) gives/,
    );
    const [alone] = groupInMemory(1);
    const sum = square.reduction('Sum', 'j');
    await expect(sum.prepare([], { group: alone } as object)).rejects.toThrow(/no option 'group'/);
  });
});
