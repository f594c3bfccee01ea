import { device, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lbfgs } from '../index.js';
import { lbfgsSuite } from './lbfgs-suite.test-support.js';
import { strongWolfe, type LinePoint } from './strong-wolfe.js';

lbfgsSuite('the CPU', () => device('cpu'));

describe('strong Wolfe conditions', () => {
  const functions: readonly (readonly [string, (t: number) => [number, number], number])[] = [
    ['a quadratic, from a short step', (t) => [(t - 3) ** 2, 2 * (t - 3)], 0.01],
    ['a quadratic, from a long step', (t) => [(t - 3) ** 2, 2 * (t - 3)], 50],
    ['a wave', (t) => [-Math.sin(t) + t / 10, -Math.cos(t) + 0.1], 6],
    ['a wall: infinite from 2 on', (t) => (t < 2 ? [-t - t * t, -1 - 2 * t] : [Infinity, NaN]), 8],
    ['more of More and Thuente', (t) => [-t / (t * t + 2), (t * t - 2) / (t * t + 2) ** 2], 1e-3],
  ];
  it.each(functions)('are fulfilled: %s', async (name, f, t) => {
    const made: Tensor[] = [];
    const at = async (to: number): Promise<LinePoint> => {
      const grad = await tensor([0], { device: 'cpu' });
      made.push(grad);
      const [value, slope] = f(to);
      return { t: to, value, slope, grad };
    };
    const start = await at(0);
    const { point, evaluations } = await strongWolfe({
      at,
      start,
      t,
      size: 1,
      toleranceChange: 1e-9,
    });
    expect(point.value).toBeLessThanOrEqual(start.value + 1e-4 * point.t * start.slope);
    if (!name.startsWith('a wall')) {
      expect(Math.abs(point.slope)).toBeLessThanOrEqual(-0.9 * start.slope);
    }
    expect(evaluations).toBe(made.length - 1);
    expect(made.filter((one) => !one.disposed)).toEqual(
      point.grad === start.grad ? [start.grad] : [start.grad, point.grad],
    );
  });
});

describe('lbfgs refuses', () => {
  it('a step without value and evaluate, by their names', async () => {
    using w = await tensor([1, 2], { device: 'cpu' });
    using g = await tensor([1, 2], { device: 'cpu' });
    using value = await tensor(1, { device: 'cpu' });
    using state = await lbfgs().init(w);
    const code = 'MISSING_STATISTICS';
    const expected = (what: string) => ({
      code,
      message: expect.stringContaining(`no ${what}`) as string,
    });
    await expect(lbfgs().step(w, g, state)).rejects.toMatchObject(expected('value'));
    await expect(lbfgs().step(w, g, state, { value })).rejects.toMatchObject(expected('evaluate'));
  });

  it.each([NaN, Infinity])('to move by a loss or a gradient of %d', async (bad) => {
    using w = await tensor([1, 2], { device: 'cpu' });
    using good = await tensor([1, 2], { device: 'cpu' });
    using g = await tensor([1, bad], { device: 'cpu' });
    using value = await tensor(1, { device: 'cpu' });
    using lost = await tensor(bad, { device: 'cpu' });
    using state = await lbfgs().init(w);
    const evaluate = () => Promise.reject(new Error('not asked'));
    for (const [grad, loss] of [
      [g, value],
      [good, lost],
    ] as const) {
      const { skipped } = await lbfgs().step(w, grad, state, { value: loss, evaluate });
      expect(await skipped.item()).toBe(1);
      const thrown = lbfgs({ nonFinite: 'throw' }).step(w, grad, state, { value: loss, evaluate });
      await expect(thrown).rejects.toMatchObject({ code: 'NOT_FINITE' });
    }
    expect(await state.tensors.get('skips')?.item()).toBe(2);
    expect(await w.toNested()).toEqual([1, 2]);
  });

  it('to write anything where evaluate throws', async () => {
    using w = await tensor([1, 2], { device: 'cpu' });
    using g = await tensor([1, 2], { device: 'cpu' });
    using value = await tensor(1, { device: 'cpu' });
    using state = await lbfgs().init(w);
    const evaluate = () => Promise.reject(new Error('no more'));
    await expect(lbfgs().step(w, g, state, { value, evaluate })).rejects.toThrow('no more');
    expect(await w.toNested()).toEqual([1, 2]);
    expect(state.step).toBe(0);
    for (const one of state.tensors.values()) {
      if (one.size > 0) expect(Number(await one.abs().max().item())).toBe(0);
    }
  });
});
