import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  concat,
  diag,
  full,
  isPending,
  map,
  device,
  oneHot,
  pad,
  scatterAdd,
  scope,
  sumTo,
  tensor,
  tile,
  tril,
  zeros,
  type PendingTensor,
  type Tensor,
} from './index.js';
import { attachMethods } from './operation/index.js';
import { neg, variable } from '@mercer/formula';
import { undisposedBytes } from '../test/memory-kept.mjs';
import { untaken } from '../test/untaken.mjs';

const where = { device: 'cpu' } as const;
const make = (): PendingTensor<'float64'> =>
  tensor(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { ...where, dtype: 'float64' },
  );

describe('a result before it is awaited', () => {
  it('has every method that the tensor has', async () => {
    const there = await make();
    const waited = make();
    const calls: readonly ((t: Tensor<'float64'> | PendingTensor<'float64'>) => unknown)[] = [
      (t) => t.slice(1).toNested(),
      (t) => t.transpose().toNested(),
      (t) => t.permute([1, 0]).toNested(),
      (t) => t.reshape([3, 2]).toNested(),
      (t) => t.broadcastTo([2, 2, 3]).toNested(),
      (t) => t.view().toNested(),
      (t) => t.transpose().contiguous().toNested(),
      (t) => t.clone().toNested(),
      (t) => t.cast('int32').toTypedArray(),
      (t) => t.to('cpu').toTypedArray(),
      (t) => t.clone().fill(7).toNested(),
      (t) => t.clone().copyFrom(there).ready().toNested(),
      (t) => t.slice(1, 2).item(),
      (t) => t.sumTo([3]).toNested(),
    ];
    for (const call of calls) {
      const wanted = await call(there);
      expect(await call(waited), String(call)).toEqual(wanted);
      expect(wanted, String(call)).toBeDefined();
    }
  });

  it('is what operations return', async () => {
    const x = await make();
    const index = await tensor(Int32Array.of(1, 0), where);
    const results = [
      make(),
      zeros([2], where),
      full([2], 1, where),
      x.clone(),
      sumTo(x, [3]),
      map(neg(variable('x')), { x }),
      scatterAdd(x, index, 2),
    ];
    for (const one of results) {
      expect(isPending(one)).toBe(true);
      expect(one).toBeInstanceOf(Promise);
      expect((await one).device.kind).toBe('cpu');
    }
  });

  it('stays usable any number of times', async () => {
    const a = make();
    expect(await a.toNested()).toEqual(await a.toNested());
    const [first, second] = await Promise.all([a, a]);
    expect(first).toBe(second);
  });

  it('rejects what is made of it with its error, and nothing besides', async () => {
    const rejected = await untaken(async () => {
      const wrong = make().reshape([4]).transpose();
      await expect(wrong.toNested()).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
      const later = tensor([[1], [2, 3]] as number[][], where)
        .cast('float64')
        .sumTo([1]);
      await expect(later.item()).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
    });
    expect(rejected).toEqual([]);
  });

  it('that failed is heard by a call that is refused for another reason', async () => {
    const wrong = { wrong: 1 } as never;
    const calls: readonly ((x: Tensor) => Promise<unknown>)[] = [
      (x) => concat([x], 0, wrong),
      (x) => pad(x, 1, wrong),
      (x) => tile(x, 2, wrong),
      (x) => oneHot(x as never, 3, wrong),
      (x) => diag(x, 0, wrong),
      (x) => x.add(1, wrong),
      async (x) => x.sum(0, wrong),
      async (x) => x.std(0, wrong),
      async (x) => tril(x, 0.5),
      async (x) => (await make()).copyFrom(x, wrong),
      async (x) => sumTo(await make(), [1]).mul(x, wrong),
    ];
    for (const call of calls) {
      const rejected = await untaken(async () => {
        const failed = make().reshape([4]) as unknown as Tensor;
        await expect(call(failed), String(call)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
      });
      expect(rejected, String(call)).toEqual([]);
    }
  });

  it('is told of by Node where nobody takes its error', async () => {
    const rejected = await untaken(async () => {
      void make().reshape([4]);
    });
    expect(rejected).toMatchObject([{ code: 'SHAPE_MISMATCH' }]);
  });

  it('waits for arguments that are pending', async () => {
    const a = make();
    const b = make().cast('float32');
    expect(
      await zeros([2, 3], where)
        .copyFrom(b as never)
        .toNested(),
    ).toEqual(await a.toNested());
  });

  it('is awaited in as many turns as a plain promise', async () => {
    const order: string[] = [];
    const there = await make();
    const one = there.ready();
    const plain = one.then((t) => t);
    await plain;
    const a = (async () => {
      await one;
      order.push('pending');
    })();
    const b = (async () => {
      await plain;
      order.push('plain');
    })();
    await Promise.all([a, b]);
    expect(order).toEqual(['pending', 'plain']);
  });
});

describe('memory of a result that is not awaited', () => {
  const live = (): number => undisposedBytes(device('cpu'));

  it('is returned by dispose, also before it is there', async () => {
    const before = live();
    const a = make();
    a.dispose();
    await a;
    await a.then(() => undefined);
    expect((await a).disposed).toBe(true);
    expect(live()).toBe(before);
    {
      using b = make();
      await b;
    }
    await sleep(0);
    expect(live()).toBe(before);
    const rejected = await untaken(async () => {
      const wrong = make().reshape([4]);
      wrong.dispose();
      await expect(wrong).rejects.toThrow();
    });
    expect(rejected).toEqual([]);
  });

  it('is returned at the end of the scope that tracks it, and not where it is the result', async () => {
    const before = live();
    const kept = await scope(async (s) => {
      const a = s.track(make());
      const b = s.track(make());
      void s.track(b.cast('float32'));
      return s.track(a.transpose());
    });
    await sleep(5);
    expect(kept.disposed).toBe(false);
    expect(await kept.toNested()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    kept.dispose();
    expect(live()).toBe(before);
  });

  it('is returned where the result comes after the scope has ended', async () => {
    const before = live();
    let late: PendingTensor<'float64'> | undefined;
    await scope((s) => {
      late = s.track(make());
    });
    expect((await late!).disposed).toBe(true);
    expect(live()).toBe(before);
  });
});

describe('attachMethods', () => {
  it('refuses a name that tensors have', () => {
    const clone = { gives: 'tensor', call: async (t: Tensor) => t } as const;
    expect(() => {
      attachMethods({ clone } as never);
    }).toThrow("there is a member 'clone' already. Give the method another name;");
  });
});
