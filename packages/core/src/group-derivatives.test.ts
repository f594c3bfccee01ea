import { grad, lazyI, lazyJ, tensor, zeros, type Tensor } from '@mercer/core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  describeGroupDerivatives,
  ranksInMemory,
} from './testing/group-derivatives-suite.test-support.js';

// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));

describe('derivatives of reductions of a group, gathered through memory', () => {
  const group = ranksInMemory(3);
  describeGroupDerivatives(() => group);

  it('are not written to tensors that exist', async () => {
    const [alone] = ranksInMemory(1);
    const x = await tensor([[1, 2]], { device: 'cpu' });
    const out = await zeros([1, 2], { device: 'cpu' });
    const of = (y: Tensor<'float32'>): PromiseLike<Tensor> =>
      lazyI(x).sub(lazyJ(y)).square().sum('j', { group: alone, out }).sum();
    await expect(grad(of)(x)).rejects.toThrow(/the option out overwrites a tensor/);
  });
});
