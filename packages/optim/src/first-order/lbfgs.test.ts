import { device, memory, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lbfgs, type OptimiserState } from '../index.js';
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

it('lbfgs takes steps that are not awaited one after another', async () => {
  const cpu = { device: 'cpu', dtype: 'float64' } as const;
  const optimiser = lbfgs({ lineSearch: 'none', maxIterations: 1, lr: 0.1 });
  const ended = async (together: boolean): Promise<readonly unknown[]> => {
    using w = await tensor([1, 2], cpu);
    using first = await tensor([1, -1], cpu);
    using second = await tensor([0.5, -0.75], cpu);
    using state = (await optimiser.init(w)) as OptimiserState & Disposable;
    const steps = [first, second].map((g) => () => optimiser.step(w, g, state));
    if (together) await Promise.all(steps.map((step) => step()));
    else for (const step of steps) await step();
    return [state.step, await w.toNested(), await state.tensors.get('numbers')?.toNested()];
  };
  const wanted = await ended(false);
  expect(wanted[0]).toBe(2);
  expect(await ended(true)).toEqual(wanted);
});

it('lbfgs takes a parameter as its own gradient', async () => {
  const optimiser = lbfgs({ lineSearch: 'none', maxIterations: 1, lr: 0.1 });
  const ended = async (isOwn: boolean): Promise<readonly unknown[]> => {
    using w = await tensor([1, 2, -3], { device: 'cpu' });
    using state = await optimiser.init(w);
    for (let step = 0; step < 3; step++) {
      using g = await w.clone();
      (await optimiser.step(w, isOwn ? w : g, state)).skipped.dispose();
    }
    return [await w.toNested(), await state.tensors.get('numbers')?.toNested()];
  };
  expect(await ended(true)).toEqual(await ended(false));
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

  it('a state of other tensors, by what is wrong with it', async () => {
    using w = await tensor([1, 2], { device: 'cpu' });
    using g = await tensor([1, 2], { device: 'cpu' });
    const optimiser = lbfgs({ lineSearch: 'none', maxIterations: 1 });
    using state = await optimiser.init(w);
    const step = (given: unknown) => optimiser.step(w, g, given as typeof state);
    const wrong = (part: string) => ({
      code: 'WRONG_STATE',
      message: expect.stringContaining(part) as string,
    });
    await expect(step(undefined)).rejects.toMatchObject(wrong('the state is undefined'));
    const more = new Map([...state.tensors, ['more', g]]);
    await expect(step({ ...state, tensors: more })).rejects.toMatchObject(wrong('has more'));
    state.tensors.get('vector0')?.dispose();
    await expect(step(state)).rejects.toMatchObject({ code: 'DISPOSED' });
    expect(await w.toNested()).toEqual([1, 2]);
  });

  it('and keeps no tensor, whatever evaluate gives', async () => {
    using w = await tensor([3, -4], { device: 'cpu' });
    using grad = await w.mul(2);
    using value = await w.square().sum();
    const gives = {
      good: async (at: Tensor) => ({ value: await at.square().sum(), grad: await at.mul(2) }),
      'a gradient of another shape': async (at: Tensor) => ({
        value: await at.square().sum(),
        grad: await tensor([1, 2, 3], { device: 'cpu' }),
      }),
      'two gradients': async (at: Tensor) => ({
        value: await at.square().sum(),
        grad: { a: await at.mul(2), b: await at.mul(2) },
      }),
      'a loss that is no number': async (at: Tensor) => ({
        value: await at.square(),
        grad: await at.mul(2),
      }),
    };
    for (const [name, evaluate] of [...Object.entries(gives), ...Object.entries(gives)]) {
      const before = memory().tensors;
      using start = await w.clone();
      {
        using state = await lbfgs({ maxIterations: 3 }).init(start);
        const call = lbfgs({ maxIterations: 3 }).step(start, grad, state, {
          value,
          evaluate: evaluate,
        });
        if (name === 'good') (await call).skipped.dispose();
        else await expect(call, name).rejects.toThrow();
        using bad = await grad.mul(NaN);
        (
          await lbfgs({ maxIterations: 3 }).step(start, bad, state, {
            value,
            evaluate: evaluate,
          })
        ).skipped.dispose();
      }
      expect(memory().tensors - before, name).toBe(1);
    }
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
    for (const [name, one] of state.tensors) {
      const numbers = Array.from((await one.toTypedArray()) as Float64Array);
      expect(numbers, name).toEqual(numbers.map(() => 0));
    }
  });
});
