import { mul, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import {
  full,
  map,
  startProfile,
  tensor,
  type DType,
  type Pending,
  type Tensor,
} from '../index.js';
import { undisposedBytes } from '../../test/memory-kept.mjs';

const where = { device: 'cpu' } as const;

/** How many kernels `work` launches. */
async function launches(work: () => Promise<unknown>): Promise<number> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).length;
}

describe('a chain', () => {
  it.each([
    ['a tensor', (x: Tensor) => x.mul(1), 1],
    ['a result that is not there yet', (x: Tensor) => x.mul(x.prod(0, { keepDims: true })), 2],
  ])('of %s whose results are used twice has each once', async (_, begin, kernels) => {
    const x = await tensor([0.5, 2], where);
    const count = await launches(async () => {
      let sum = begin(x);
      for (let k = 0; k < 50; k++) sum = sum.add(sum);
      expect(await sum.toNested()).toEqual([2 ** 49, 2 ** 51]);
    });
    expect(count).toBe(kernels);
  });

  it('of 20 operations is one launch', async () => {
    const x = await tensor([1, 2], where);
    const count = await launches(async () => {
      let sum = x.add(1);
      for (let k = 1; k < 20; k++) sum = sum.add(1);
      expect(await sum.toNested()).toEqual([21, 22]);
    });
    expect(count).toBe(1);
  });

  it('reads more than eight tensors in several launches', async () => {
    const all: Tensor<'float32'>[] = [];
    for (let k = 0; k < 20; k++) all.push(await full([3], k, where));
    const [first, ...others] = all as [Tensor<'float32'>, ...Tensor<'float32'>[]];
    let left = first.add(0);
    let right = first.add(0);
    for (const one of others) {
      left = left.add(one);
      right = one.add(right);
    }
    expect(await left.toNested()).toEqual([190, 190, 190]);
    expect(await right.toNested()).toEqual([190, 190, 190]);
    expect(await left.mul(right).toNested()).toEqual([36100, 36100, 36100]);
  });

  it.each(['uint8', 'int32', 'int64'] as const)(
    'of %s saturates and truncates after each operation',
    async (dtype) => {
      const most = { uint8: 255, int32: 2 ** 31 - 1, int64: 2 ** 53 }[dtype];
      const x = await tensor([most, 2], { ...where, dtype });
      const inOne = await x.add(1).sub(1).cast('float64').toTypedArray();
      // uint8 is computed in float32, which does not make a float64
      const count = await launches(() => x.add(1).sub(1).cast('float64').ready());
      expect(count).toBe(dtype === 'uint8' ? 2 : 1);
      const apart = await (await (await x.add(1)).sub(1)).cast('float64').toTypedArray();
      expect([...inOne]).toEqual([...apart]);
      // 1/2 is 0 in whole numbers
      expect(await x.pow(-1).mul(2).slice(1).cast('float64').item()).toBe(0);
    },
  );
});

describe('a cast of a chain', () => {
  const values = [1.7, -2.5, NaN, 1e10, 300, -0.3, Infinity];

  /** What a cast gives of a result that is stored before, and how many kernels it takes where it is not. */
  const both = async (
    dtype: DType,
    make: (x: Tensor<'float32'>) => Pending<Tensor>,
  ): Promise<readonly [inOne: unknown, apart: unknown, count: number]> => {
    const x = await tensor(values, where);
    const apart = await (await make(x)).cast(dtype).toTypedArray();
    let inOne: unknown;
    const count = await launches(async () => {
      inOne = await make(x).cast(dtype).toTypedArray();
    });
    return [inOne, apart, count];
  };

  it.each(['bool', 'uint8', 'int32', 'int64', 'float16', 'bfloat16', 'float32'] as const)(
    'to %s is part of its kernel, with the bits of a cast',
    async (dtype) => {
      const [inOne, apart, count] = await both(dtype, (x) => x.mul(1.5));
      expect(inOne).toEqual(apart);
      expect(count).toBe(1);
    },
  );

  it.each([
    ['to float64 of what is computed in float32', 'float64', (x) => x.exp()],
    ['to fewer whole numbers, which wraps', 'uint8', (x) => x.cast('int32').add(1).mul(100)],
  ] satisfies [string, DType, (x: Tensor<'float32'>) => Pending<Tensor>][])(
    '%s is a launch of its own',
    async (_, dtype, make) => {
      const [inOne, apart, count] = await both(dtype, make);
      expect(inOne).toEqual(apart);
      expect(count).toBeGreaterThan(1);
    },
  );

  it('goes on as part of the chain where a formula says what is stored', async () => {
    const x = await tensor(values, where);
    const whole = await (await x.mul(1.5).cast('uint8')).exp();
    const half = await (await x.mul(1.5).cast('float16')).exp();
    expect(await launches(() => x.mul(1.5).cast('uint8').exp().ready())).toBe(1);
    expect(await launches(() => x.mul(1.5).cast('float16').exp().ready())).toBe(2);
    expect(await x.mul(1.5).cast('uint8').exp().toTypedArray()).toEqual(await whole.toTypedArray());
    expect(await x.mul(1.5).cast('float16').exp().toTypedArray()).toEqual(
      await half.toTypedArray(),
    );
    expect(await x.mul(1.5).cast('uint8').sum().item()).toBe(767n);
  });

  it('keeps what casts take: a result of the same call, options and errors', async () => {
    const x = await tensor(values, where);
    const out = await full([values.length], 0, { ...where, dtype: 'int32' });
    expect(await x.mul(2).cast('int32', { out })).toBe(out);
    expect((await out.toTypedArray())[0]).toBe(3);
    await expect(x.mul(2).cast('float8' as never)).rejects.toThrow('"float8" is not a dtype');
    await expect(x.mul(2).cast('int32', { outs: out } as never)).rejects.toThrow("'outs'");
  });
});

describe('a write to a tensor that a chain reads', () => {
  it('launches the chain as one kernel before', async () => {
    const x = await tensor([1, 2, 3], where);
    let sum = x.add(1);
    for (let k = 1; k < 5; k++) sum = sum.add(1);
    expect(await launches(() => x.fill(0))).toBe(1);
    expect(await sum.toNested()).toEqual([6, 7, 8]);
  });

  it('that cannot wait leaves a copy, with which the chain goes on', async () => {
    const x = await tensor([1, 2, 3], where);
    const y = await full([3], 5, where);
    const twice = await map.prepare(mul(variable('v'), 2), { v: y }, { out: x });
    const before = x.add(1);
    twice({ v: y }, { out: x });
    expect(await x.toNested()).toEqual([10, 10, 10]);
    expect(await before.mul(2).toNested()).toEqual([4, 6, 8]);
  });

  it('makes results unusable that were part of a launched chain', async () => {
    const x = await tensor([1], where);
    const part = x.add(1);
    await part.mul(2);
    expect(await part.toNested()).toEqual([2]);
    const other = x.add(2);
    await other.mul(2);
    await x.fill(0);
    await expect(other.toNested()).rejects.toMatchObject({ code: 'MODIFIED' });
  });
});

describe('a chain of tensors that are disposed', () => {
  it('keeps their memory until it is launched, and returns it then', async () => {
    const x = await full([1000], 1, where);
    const before = undisposedBytes(x.device);
    const y = await full([1000], 2, where);
    const sum = x.add(y).mul(2);
    y.dispose();
    expect(undisposedBytes(x.device) - before).toBe(4000);
    const there = await sum;
    expect(undisposedBytes(x.device) - before).toBe(4000);
    expect((await there.toTypedArray())[7]).toBe(6);
    there.dispose();
    expect(undisposedBytes(x.device)).toBe(before);
  });
});

describe('copyFrom of a chain', () => {
  it('computes it into the tensor, also where that is read', async () => {
    const x = await full([1000], 1, where);
    const y = await full([1000], 2, where);
    await x.copyFrom(x.mul(0.5).add(y));
    const before = undisposedBytes(x.device);
    const count = await launches(() => x.copyFrom(x.mul(0.5).add(y)));
    expect(count).toBe(1);
    expect(undisposedBytes(x.device)).toBe(before);
    expect(await x.slice(7).item()).toBe(3.25);
  });

  it('computes it beside the tensor where it reads it in another order', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    const turned = x.transpose();
    const twice = turned.mul(2);
    turned.dispose();
    expect(await x.copyFrom(twice).toNested()).toEqual([
      [2, 6],
      [4, 8],
    ]);
  });
});

it('JSON sees dtype, shape and device of what is not computed yet', async () => {
  const x = await tensor([1, 2], where);
  expect(JSON.stringify(x.add(1))).toBe('{"dtype":"float32","shape":[2],"device":"cpu"}');
});
