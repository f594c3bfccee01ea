import { add, mul, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { map, zeros, type Tensor } from '../index.js';

const x = variable('x');
const formulas = { twice: mul(2, x), more: add(x, 1) };

/** Rows of one tensor from two places on, into which a call like others writes its results. */
async function into(whole: Tensor, from: Tensor, first: number, second: number): Promise<void> {
  const out = {
    twice: whole.slice([first, first + 2]),
    more: whole.slice([second, second + 2]),
  };
  await map(formulas, { x: from }, { out });
}

describe('a call that comes again', () => {
  it('writes parts of one tensor, and refuses parts that overlap', async () => {
    const whole = await zeros([40, 16], { device: 'cpu' });
    const from = await zeros([2, 16], { device: 'cpu' });
    await from.fill(3);
    for (const [first, second] of [
      [0, 2],
      [4, 8],
      [8, 0],
    ] as const) {
      await into(whole, from, first, second);
      expect((await whole.toNested<number[][]>())[first]?.[15]).toBe(6);
      expect((await whole.toNested<number[][]>())[second + 1]?.[0]).toBe(4);
    }
    const before = await whole.toNested();
    await expect(into(whole, from, 4, 5)).rejects.toMatchObject({ code: 'OVERLAP' });
    await expect(into(whole, whole.slice([5, 7]), 6, 0)).rejects.toMatchObject({ code: 'OVERLAP' });
    expect(await whole.toNested()).toEqual(before);
  });

  it('refuses parts of a tensor that has many of them too', async () => {
    const whole = await zeros([80, 16], { device: 'cpu' });
    const parts = (starts: readonly number[]): Tensor[] =>
      starts.map((start) => whole.slice([start, start + 2]));
    const x = await Promise.all(
      Array.from({ length: 20 }, () => zeros([2, 16], { device: 'cpu' })),
    );
    const apart = Array.from({ length: 20 }, (_, k) => 4 * k);
    for (const _ of [1, 2]) await map(formulas.more, { x }, { out: parts(apart) });
    expect((await whole.toNested<number[][]>()).map(([first]) => first)).toEqual(
      Array.from({ length: 80 }, (_, row) => (row % 4 < 2 ? 1 : 0)),
    );
    const close = apart.with(7, 4 * 8 - 1);
    await expect(map(formulas.more, { x }, { out: parts(close) })).rejects.toMatchObject({
      code: 'OVERLAP',
    });
  });
});
