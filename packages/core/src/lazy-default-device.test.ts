import { grad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { tensor, type Tensor } from '@mercer/tensor';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

// a process decides once which device is the default: this one has a default that no machine has
beforeAll(() => {
  vi.stubEnv('MERCER_CPU', 'interpreted');
  vi.stubEnv('MERCER_DEVICE', 'cuda:999');
});
afterAll(() => vi.unstubAllEnvs());

it('derivatives by an index of pairs lie where the tensors do, whatever the default device is', async () => {
  const where = { device: 'cpu', dtype: 'float64' } as const;
  await expect(tensor([1])).rejects.toThrow('cuda:999');
  const index = await tensor([[2], [0], [1]], where);
  const [table, y] = [await tensor([[1], [2], [3]], where), await tensor([[1], [2]], where)];
  const gathered = (at: Tensor<'float64'>, other: Tensor<'float64'>) =>
    lazyI(index).add(lazyJ(other).mul(0)).gather(at).square().sum('j').sum();
  const found = await grad(gathered)(table, y);
  expect(await found.toNested()).toEqual([[4], [8], [12]]);
});
