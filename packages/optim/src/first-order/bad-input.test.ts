import { empty, full, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  adam,
  adamW,
  kfac,
  lbfgs,
  lossScale,
  muon,
  naturalGradient,
  parameterGroups,
  sgd,
} from '../index.js';

const where = { device: 'cpu' } as const;
const row = (...values: number[]): Promise<Tensor<'float32'>> => tensor(values, where);
const naming = (code: string, ...words: string[]) => ({
  code,
  message: expect.stringMatching(
    new RegExp(words.map((one) => one.replace(/[[\]().]/g, '\\$&')).join('.*')),
  ) as string,
});

describe('options are refused', () => {
  it.each<readonly [string, () => unknown, string]>([
    ['a negative lr', () => sgd({ lr: -1 }), 'lr is -1'],
    ['lr NaN', () => adam({ lr: NaN }), 'lr is NaN'],
    ['lr of text', () => adamW({ lr: '1' as never }), 'lr is "1"'],
    ['a misspelled name', () => adam({ beta: 1 } as never), "no option 'beta'"],
    ['one beta', () => adam({ betas: [0.9] as never }), 'betas'],
    ['a beta of 1', () => adam({ betas: [0.9, 1] }), 'betas[1] is 1'],
    ['a negative eps', () => adam({ eps: -1 }), 'eps is -1'],
    ['nesterov without momentum', () => sgd({ nesterov: true }), 'nesterov with momentum 0'],
    ['nesterov as a number', () => sgd({ nesterov: 1 as never }), 'nesterov is 1'],
    ['nonFinite of another word', () => sgd({ nonFinite: 'drop' as never }), 'nonFinite is "drop"'],
    ['a norm below 0', () => sgd({ maxGradNorm: -1 }), 'maxGradNorm is -1'],
    ['another scale', () => muon({ scale: 'none' as never }), 'scale is "none"'],
    ['a fallback without a rule', () => muon({ fallback: lbfgs() }), 'lbfgs has no rule'],
    ['a history of 0', () => lbfgs({ history: 0 }), 'history is 0'],
    ['a loss scale of 0', () => lossScale(sgd(), { initial: 0 }), 'initial is 0'],
    ['a scaled lbfgs', () => lossScale(lbfgs()), 'lbfgs has no rule'],
    [
      'adaptive damping by scaled losses',
      () => lossScale(kfac({ adaptiveDamping: true })),
      'kfac compares losses',
    ],
    [
      'a scaled natural gradient',
      () => lossScale(naturalGradient()),
      'naturalGradient has its curvature from gradients of examples',
    ],
    ['an interval of a part', () => lossScale(sgd(), { interval: 2.5 }), 'interval is 2.5'],
    ['iterations of a part', () => muon({ iterations: 2.5 }), 'iterations is 2.5'],
    [
      'a fallback that limits its norm itself',
      () => muon({ fallback: adamW({ maxGradNorm: 1 }) }),
      'fallback (adamW) has maxGradNorm 1',
    ],
    [
      'a fallback that throws',
      () => muon({ fallback: adamW({ nonFinite: 'throw' }) }),
      "fallback (adamW) has nonFinite 'throw'",
    ],
    [
      'a fallback that is scaled',
      () => muon({ fallback: lossScale(adamW()) }),
      'fallback (adamW) has a scale of the loss',
    ],
    ['groups of none', () => parameterGroups({ groups: {}, of: {} }), 'groups is'],
    [
      'groups of what is no optimiser',
      () => parameterGroups({ groups: { a: 1 as never }, of: {} }),
      'groups.a',
    ],
  ])('%s', (_, make, words) => {
    expect(make).toThrow(expect.objectContaining(naming('INVALID_ARGUMENT', words)));
  });

  it('a schedule that gives NaN or less than 0, at the step', async () => {
    using w = await row(1, 2);
    using g = await row(1, 1);
    for (const [bad, text] of [
      [NaN, 'NaN'],
      [-0.5, '-0.5'],
    ] as const) {
      const optimiser = adam({ lr: (step) => (step === 2 ? bad : 0) });
      using state = await optimiser.init(w);
      (await optimiser.step(w, g, state)).skipped.dispose();
      const found = optimiser.step(w, g, state);
      await expect(found).rejects.toMatchObject(naming('INVALID_ARGUMENT', `lr(2) is ${text}`));
      expect(state.step).toBe(1);
      expect(await state.tensors.get('count')?.item()).toBe(1);
    }
  });
});

describe('parameters and gradients are refused', () => {
  it('where there are none, or no tensors', async () => {
    await expect(adam().init({})).rejects.toMatchObject(naming('INVALID_ARGUMENT', 'no tensor'));
    const odd = adam().init({ a: [1] } as never);
    await expect(odd).rejects.toMatchObject(naming('INVALID_ARGUMENT', 'params.a[0] is 1'));
  });

  it('of whole numbers', async () => {
    const params = { layers: [{ index: await tensor([1, 2], { dtype: 'int32', ...where }) }] };
    const found = adam().init(params);
    await expect(found).rejects.toMatchObject(naming('DTYPE_MISMATCH', 'layers[0].index is int32'));
  });

  it('that stand twice in a tree', async () => {
    using w = await row(1, 2);
    using view = w.view();
    for (const b of [w, view]) {
      const found = adam().init({ a: w, b });
      await expect(found).rejects.toMatchObject(naming('INVALID_ARGUMENT', 'a and b are the same'));
    }
  });

  it('that have one path', async () => {
    const params = { 'a.b': await row(1), a: { b: await row(2) }, 'c[0]': await row(3) };
    await expect(adam().init(params)).rejects.toMatchObject(
      naming('INVALID_ARGUMENT', 'two tensors have the path a.b'),
    );
    const { 'a.b': one, ...others } = params;
    using state = await adam().init(others);
    const twice = { ...others, c: [one] };
    await expect(adam().step(others, twice, state)).rejects.toMatchObject(
      naming('INVALID_ARGUMENT', 'grads: two tensors have the path c[0]'),
    );
    expect(await others.a.b.toNested()).toEqual([2]);
  });

  it('that were disposed', async () => {
    const [w, g] = [await row(1, 2), await row(1, 2)];
    using state = await adam().init(w);
    g.dispose();
    await expect(adam().step(w, g, state)).rejects.toMatchObject({ code: 'DISPOSED' });
    w.dispose();
    await expect(adam().step(w, w, state)).rejects.toMatchObject({ code: 'DISPOSED' });
    await expect(adam().init(w)).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  it('where grads is another tree: the path says where', async () => {
    const params = { layers: [{ w: await row(1, 2), b: await row(3) }] };
    using state = await sgd().init(params);
    const step = (grads: unknown) => sgd().step(params, grads as never, state);
    using two = await row(1, 2);
    using one = await row(1);
    const missing = step({ layers: [{ w: two }] });
    await expect(missing).rejects.toMatchObject(naming('INVALID_ARGUMENT', 'no layers[0].b'));
    const more = step({ layers: [{ w: two, b: one, c: one }] });
    await expect(more).rejects.toMatchObject(naming('INVALID_ARGUMENT', 'grads has layers[0].c'));
    const shaped = step({ layers: [{ w: two, b: two }] });
    await expect(shaped).rejects.toMatchObject(
      naming('SHAPE_MISMATCH', 'layers[0].b is [2]', 'layers[0].b is [1]'),
    );
    using whole = await tensor([1], { dtype: 'int32', ...where });
    const ints = step({ layers: [{ w: two, b: whole }] });
    await expect(ints).rejects.toMatchObject(naming('DTYPE_MISMATCH', 'layers[0].b is int32'));
  });
});

describe('states are refused', () => {
  it('of another optimiser, of other parameters, and what is none', async () => {
    using w = await row(1, 2);
    using g = await row(1, 1);
    using state = await adam().init(w);
    const code = 'WRONG_STATE';
    await expect(sgd().step(w, g, state)).rejects.toMatchObject(naming(code, 'one of adam'));
    await expect(adam().step(w, g, undefined as never)).rejects.toMatchObject(
      naming(code, 'the state is undefined'),
    );
    using longer = await row(1, 2, 3);
    const other = adam()
      .step(longer, longer, state)
      .catch((error: unknown) => error);
    expect(await other).toMatchObject({
      code: expect.stringMatching(/INVALID_ARGUMENT|WRONG_STATE/) as string,
    });
    using ofLonger = await row(1, 2, 3);
    await expect(adam().step(longer, ofLonger, state)).rejects.toMatchObject(
      naming(code, 'params/m', 'should be float32 [3]'),
    );
    using wide = await tensor([1, 2], { dtype: 'float64', ...where });
    await expect(adam().step(wide, g, state)).rejects.toMatchObject(
      naming(code, 'params/m', 'should be float64 [2]'),
    );
    const tree = adam().step({ a: w }, { a: g }, state);
    await expect(tree).rejects.toMatchObject(naming(code, 'no a/m'));
    using momentum = await sgd({ momentum: 0.9 }).init(w);
    const less = sgd().step(w, g, momentum);
    await expect(less).rejects.toMatchObject(naming(code, 'the state has params/m'));
  });
});

describe('a state that served before is looked at again', () => {
  it('for other parameters, other tensors, and those that were disposed', async () => {
    const optimiser = adam();
    using w = await row(1, 2);
    using g = await row(1, 1);
    using state = await optimiser.init({ w });
    (await optimiser.step({ w }, { w: g }, state)).skipped.dispose();
    const code = 'WRONG_STATE';
    const renamed = optimiser.step({ v: w }, { v: g }, state);
    await expect(renamed).rejects.toMatchObject(naming(code, 'no v/m'));
    using longer = await row(1, 2, 3);
    using ofLonger = await row(1, 1, 1);
    const grown = optimiser.step({ w: longer }, { w: ofLonger }, state);
    await expect(grown).rejects.toMatchObject(naming(code, 'w/m', 'should be float32 [3]'));
    const tensors = state.tensors as Map<string, Tensor>;
    const mean = tensors.get('w/m') as Tensor;
    tensors.set('w/m', longer);
    const exchanged = optimiser.step({ w }, { w: g }, state);
    await expect(exchanged).rejects.toMatchObject(naming(code, 'w/m', 'should be float32 [2]'));
    tensors.set('w/m', mean).set('more', longer);
    const more = optimiser.step({ w }, { w: g }, state);
    await expect(more).rejects.toMatchObject(naming(code, 'the state has more'));
    tensors.delete('more');
    (await optimiser.step({ w }, { w: g }, state)).skipped.dispose();
    const scaled = lossScale(optimiser).step({ w }, { w: g }, state);
    await expect(scaled).rejects.toMatchObject(naming(code, 'the state has no lossScale'));
    mean.dispose();
    const gone = optimiser.step({ w }, { w: g }, state);
    await expect(gone).rejects.toMatchObject({ code: 'DISPOSED' });
  });
});

describe('unusual parameters and gradients', () => {
  it('lr 0 changes nothing but the state', async () => {
    using w = await row(1, 2);
    using g = await row(1, -1);
    const optimiser = adamW({ lr: 0 });
    using state = await optimiser.init(w);
    expect(await (await optimiser.step(w, g, state)).skipped.item()).toBe(0);
    expect(await w.toNested()).toEqual([1, 2]);
    expect(await state.tensors.get('count')?.item()).toBe(1);
    expect(Number(await state.tensors.get('params/m')?.max().item())).toBeCloseTo(0.1, 6);
  });

  it('nothing but empty parameters', async () => {
    using w = empty([0, 3], where);
    using g = empty([0, 3], where);
    for (const optimiser of [sgd(), adam({ maxGradNorm: 1 }), muon()]) {
      using state = await optimiser.init(w);
      expect(await (await optimiser.step(w, g, state)).skipped.item()).toBe(0);
      expect(await state.tensors.get('count')?.item()).toBe(1);
    }
  });

  it('views with gaps, which are written in place', async () => {
    using all = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    using column = all.slice(null, 1);
    using g = await row(1, 1);
    using state = await sgd({ lr: 1 }).init(column);
    (await sgd({ lr: 1 }).step(column, g, state)).skipped.dispose();
    expect(await all.toNested()).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });

  it('gradients with NaN or infinity: thrown with their paths, with nothing written', async () => {
    const params = { a: await row(1, 2), b: [await row(3), await row(4)] };
    const grads = { a: await row(1, 1), b: [await row(NaN), await row(-Infinity)] };
    const optimiser = adam({ nonFinite: 'throw' });
    using state = await optimiser.init(params);
    const found = optimiser.step(params, grads, state);
    await expect(found).rejects.toMatchObject(naming('NOT_FINITE', 'b[0], b[1]'));
    expect(await params.a.toNested()).toEqual([1, 2]);
    expect(await state.tensors.get('skips')?.item()).toBe(1);
    await grads.b[0]?.fill(1);
    await grads.b[1]?.fill(1);
    (await optimiser.step(params, grads, state)).skipped.dispose();
    expect(await params.b[0]?.item()).toBeCloseTo(3 - 1e-3, 6);
  });

  it('and ignored where that is asked for', async () => {
    using w = await row(1, 2);
    using g = await row(NaN, 1);
    const optimiser = sgd({ lr: 1, nonFinite: 'ignore' });
    using state = await optimiser.init(w);
    expect(await (await optimiser.step(w, g, state)).skipped.item()).toBe(0);
    expect(await w.toNested()).toEqual([NaN, 1]);
  });

  it('gradients of float64 that are large are finite', async () => {
    using w = await full([2], 0, { dtype: 'float64', ...where });
    using g = await full([2], 1e300, { dtype: 'float64', ...where });
    const optimiser = sgd({ lr: 1e-300 });
    using state = await optimiser.init(w);
    expect(await (await optimiser.step(w, g, state)).skipped.item()).toBe(0);
    expect(await w.toNested()).toEqual([-1, -1]);
  });
});
