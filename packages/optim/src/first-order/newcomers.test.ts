import { tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { accumulate, adam, lbfgs, lossScale, type OptimiserState } from '../index.js';

const row = async (...values: readonly number[]): Promise<Tensor> =>
  await tensor([...values], { device: 'cpu' });

describe('what a newcomer may pass is refused by name, with what to pass', () => {
  it.each<[string, (w: Tensor, state: OptimiserState) => unknown, RegExp]>([
    [
      'no parameters',
      () => adam().init(undefined as never),
      /^adam: params is undefined\. Pass a tensor/,
    ],
    ['a list of numbers', () => adam().init({ w: [1] } as never), /^adam: params\.w\[0\] is 1\./],
    ['no gradients', (w, s) => adam().step(w, undefined as never, s), /^adam: grads is undefined/],
    [
      'state and gradients exchanged',
      (w, s) => adam().step(w, s, w as never),
      /^adam: grads is a NamedState/,
    ],
    [
      'all that valueAndGrad gave',
      (w, s) => adam().step(w, { value: w, grad: w }, s),
      /or the grad of what valueAndGrad\(\) gives/,
    ],
    [
      'a state that is not awaited',
      (w) => adam().step(w, w, adam().init(w) as never),
      /the state is a Promise \(did you forget await\?\)/,
    ],
    [
      'extras that are a number',
      (w, s) => adam().step(w, w, s, 3 as never),
      /^adam: expected an object of options, got 3/,
    ],
    [
      'extras of another name',
      (w, s) => adam().step(w, w, s, { values: w } as never),
      /no option 'values'\. Did you mean 'value'/,
    ],
    [
      'an optimiser that is none',
      () => accumulate(3 as never, { every: 2 }),
      /^accumulate: the optimiser is 3\. Pass one, such as adam\(\)/,
    ],
    [
      'no state of a scale',
      (w) => lossScale(adam()).scaled(w, undefined as never),
      /^lossScale: the state has no lossScale/,
    ],
  ])('%s', async (_, run, message) => {
    using w = await row(1, 2);
    using state = await adam().init(w);
    await expect(async () => run(w, state)).rejects.toThrow(message);
    expect([await w.toNested(), state.step]).toEqual([[1, 2], 0]);
  });

  it.each<[string, object, RegExp]>([
    ['a loss that is a number', { value: 1 }, /^lbfgs: value is 1\. Pass the loss, a 0-d tensor/],
    [
      'a function that is none',
      { evaluate: 3 },
      /^lbfgs: evaluate is 3\. Pass a function of parameters/,
    ],
    [
      'a function without a loss',
      { evaluate: () => Promise.resolve(3) },
      /^lbfgs: evaluate gave 3\. Give \{ value, grad \}/,
    ],
  ])('lbfgs: %s', async (_, given, message) => {
    using w = await row(1, 2);
    using g = await row(1, 1);
    using value = await tensor(1, { device: 'cpu' });
    using state = await lbfgs().init(w);
    const evaluate = (): never => {
      throw new Error('never');
    };
    const step = lbfgs().step(w, g, state, { value, evaluate, ...given });
    await expect(step).rejects.toThrow(message);
    expect([await w.toNested(), state.step]).toEqual([[1, 2], 0]);
  });
});
