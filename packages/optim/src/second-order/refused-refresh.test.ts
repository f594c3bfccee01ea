import { grad } from '@mercer/autodiff';
import { device, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { accumulate, adam, kfac, parameterGroups, shampoo } from '../index.js';

const on = { device: device('cpu') };

it('a refresh of groups that one of them refuses changes none', async () => {
  const optimiser = parameterGroups({
    groups: {
      s: shampoo({ lr: 0.1, frequency: 'manual' }),
      k: kfac({ lr: 0.1, frequency: 'manual' }),
    },
    of: (path) => (path === 'a' ? 's' : 'k'),
  });
  const params = {
    a: await tensor([[1, 2]], on),
    b: await tensor([[3, 4]], on),
  };
  const state = await optimiser.init(params);
  const values = async (): Promise<unknown[]> =>
    Promise.all([...state.tensors.values()].map((one) => one.toNested()));
  const before = await values();
  // K-FAC has had no step, and so no statistics
  await expect(optimiser.refresh(params, state)).rejects.toThrow(
    expect.objectContaining({ code: 'MISSING_STATISTICS' }),
  );
  expect(await values()).toEqual(before);
});

it('a step inside of a function that is differentiated is refused', async () => {
  const optimiser = adam({ lr: 0.1 });
  const params = { a: await tensor([[1, 2]], on), b: await tensor([3], on) };
  const state = await optimiser.init(params);
  const inside = grad(async (p: { a: Tensor; b: Tensor }) => {
    await optimiser.step(p as never, params, state);
    return p.a.sum();
  });
  await expect(inside(params)).rejects.toThrow(
    /params: a is a value of a function that is differentiated/,
  );
  expect(await params.a.toNested()).toEqual([[1, 2]]);
});

it('an accumulation refuses what is no state', async () => {
  const optimiser = accumulate(shampoo({ lr: 0.1, frequency: 'manual' }), { every: 2 });
  const params = { a: await tensor([[1, 2]], on) };
  const grads = { a: await tensor([[1, 1]], on) };
  const wrong = /state is undefined/;
  await expect(optimiser.refresh(params, undefined as never)).rejects.toThrow(wrong);
  await expect(optimiser.step(params, grads, undefined as never)).rejects.toThrow(wrong);
});
