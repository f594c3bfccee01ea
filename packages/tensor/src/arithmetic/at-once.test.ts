import { beforeAll, describe, expect, it } from 'vitest';
import { isPending, tensor, type PendingTensor, type Tensor } from '../index.js';
import { thereOf } from '../operation/index.js';

const where = { device: 'cpu' } as const;

describe('a call like one before', () => {
  let x: Tensor<'float64'>;
  beforeAll(async () => {
    x = await tensor([1, 2, 3, 4], { ...where, dtype: 'float64', shape: [2, 2] });
    for (const one of [x.sum(0), x.sum(0).add(1), x.logSoftmax(1)]) (await one).dispose();
  });

  it('has its tensor when it returns, and what is made of it waits for nothing', async () => {
    const sums = x.sum(0);
    const there = thereOf(sums) as Tensor;
    expect(there.shape).toEqual([2]);
    expect(await sums).toBe(there);
    // the shape of a chain is known where its operands are
    expect(sums.add(1)).toMatchObject({ shape: [2] });
    expect(await sums.add(1).toNested()).toEqual([5, 7]);
    const view = sums.reshape([1, 2]);
    expect(thereOf(view)).toMatchObject({ shape: [1, 2] });
    expect(await view.toNested()).toEqual([[4, 6]]);
    expect(thereOf(x.logSoftmax(1))).toMatchObject({ shape: [2, 2] });
  });

  it('launches an elementwise result within the call that asks for it', async () => {
    (await x.mul(3)).dispose();
    const tripled = x.mul(3) as PendingTensor<'float64'> & { readonly tensor?: Tensor };
    expect(tripled.tensor).toBeUndefined();
    void tripled.then();
    expect(tripled.tensor?.shape).toEqual([2, 2]);
    expect(await tripled.toNested()).toEqual([
      [3, 6],
      [9, 12],
    ]);
  });

  it('rejects what is made of it wrongly, as the first call did', async () => {
    const wrong = await tensor([1, 2, 3], where);
    const calls: readonly ((sums: PendingTensor<'float64'>) => Promise<unknown>)[] = [
      (sums) => sums.add(wrong),
      (sums) => sums.sum(7),
      (sums) => sums.reshape([5]),
    ];
    for (const call of calls) {
      const made = call(x.sum(0));
      expect(isPending(made)).toBe(true);
      await expect(made).rejects.toMatchObject({ code: expect.any(String) as unknown });
    }
  });

  it('in place sees what was written by the calls before it', async () => {
    const weight = await tensor([1, 2], where);
    for (let step = 0; step < 3; step++) {
      const before = weight.mul(1);
      const written = weight.sub(1, { out: weight });
      expect(await written).toBe(weight);
      expect(await before.toNested()).toEqual([1 - step, 2 - step]);
    }
    expect(await weight.toNested()).toEqual([-2, -1]);
  });
});
