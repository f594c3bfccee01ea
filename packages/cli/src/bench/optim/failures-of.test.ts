import { adam, kfac, shampoo, tensor, type Optimiser } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import { failuresOf } from './failures-of.js';

const on = { device: 'cpu' } as const;

async function stateOf(optimiser: Optimiser) {
  const weight = await tensor([[1, 2], [3, 4], [5, 6]], on); // prettier-ignore
  return await optimiser.init({ weight, bias: await tensor([1, 2], on) });
}

describe('failures of a state', () => {
  it('are none without preconditioners', async () => {
    using state = await stateOf(adam());
    expect(await failuresOf('a step', state)).toBeUndefined();
  });

  it('stop a measurement, whichever matrix has them', async () => {
    for (const optimiser of [shampoo({ mergeDims: false }), kfac({ plain: ['bias'] })]) {
      using state = await stateOf(optimiser);
      const names = [...state.tensors.keys()].filter((name) => name.includes('failures'));
      expect(names.length).toBeGreaterThan(0);
      expect(await failuresOf('a step', state)).toBe(0);
      for (const name of names) {
        const counts = state.tensors.get(name)!;
        await counts.fill(3);
        await expect(failuresOf('a step', state)).rejects.toThrow(
          /^Cannot measure a step: the last 3 refreshes left a matrix as it was/,
        );
        await counts.fill(0);
      }
    }
  });
});
