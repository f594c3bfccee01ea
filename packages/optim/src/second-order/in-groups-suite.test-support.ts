import { prepare } from '@mercer/autodiff';
import { memory, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it, vi } from 'vitest';
import {
  accumulate,
  kfac,
  muon,
  naturalGradient,
  parameterGroups,
  sgd,
  shampoo,
  soap,
  type LayerStatistics,
  type Optimiser,
  type OptimiserState,
  type StepExtras,
} from '../index.js';
import { settledUndisposed, undisposed } from '../../../tensor/test/memory-kept.mjs';

const wave = (k: number): number => Math.sin(1.7 * k + 0.3) + 0.25 * Math.cos(0.37 * k * k);
const waves = (size: number, seed: number): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => wave(3 * i + 17 * seed));

type Params = Record<string, Tensor>;

/** Optimisers of second order in groups and under wrappers, on any device: they do what they do alone. */
export function inGroupsSuite(name: string, on: () => Device): void {
  const make = (shape: readonly number[], seed: number): PromiseLike<Tensor> =>
    tensor(
      waves(
        shape.reduce((product, x) => product * x, 1),
        seed,
      ),
      { shape: [...shape], device: on(), dtype: 'float64' },
    );

  const paramsOf = async (shapes: Readonly<Record<string, readonly number[]>>): Promise<Params> => {
    const entries = Object.entries(shapes).map(async ([key, shape], at) => [
      key,
      await make(shape, at + key.charCodeAt(0)),
    ]);
    return Object.fromEntries(await Promise.all(entries)) as Params;
  };

  const dispose = (params: Params): void => {
    for (const one of Object.values(params)) one.dispose();
  };

  /** A step with gradients that depend on the parameter's name alone. */
  async function stepped(
    optimiser: Optimiser,
    params: Params,
    state: OptimiserState,
    {
      seed,
      extras,
      change,
    }: { seed: number; extras?: StepExtras; change?: (name: string) => number },
  ): Promise<number> {
    const grads: Params = {};
    for (const [key, { shape }] of Object.entries(params)) {
      grads[key] = await make(shape, seed * 31 + key.charCodeAt(0));
      const bad = change?.(key);
      if (bad !== undefined) await grads[key].fill(bad);
    }
    try {
      const { skipped } = await optimiser.step(params, grads, state, extras);
      const is = Number(await skipped.item());
      skipped.dispose();
      return is;
    } finally {
      dispose(grads);
    }
  }

  const valuesOf = async (params: Params): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(params).map(async ([key, one]) => [key, await one.toNested()]),
      ),
    ) as Record<string, unknown>;

  /** What an optimiser makes of parameters alone. */
  async function alone(
    optimiser: Optimiser,
    shapes: Readonly<Record<string, readonly number[]>>,
    steps: number,
    extras?: StepExtras,
  ): Promise<Record<string, unknown>> {
    const params = await paramsOf(shapes);
    using state = await optimiser.init(params);
    for (let seed = 1; seed <= steps; seed++) {
      await stepped(optimiser, params, state, { seed, ...(extras && { extras }) });
    }
    const found = await valuesOf(params);
    dispose(params);
    return found;
  }

  describe(`optimisers of second order within others on ${name}`, () => {
    const later: readonly (readonly [string, () => Optimiser])[] = [
      ['shampoo', () => shampoo({ betas: [0, 1], eps: 1e-3, frequency: 3, delay: 2, start: 1 })],
      ['soap', () => soap({ frequency: 3, delay: 2 })],
    ];
    it.each(later)(
      'take the steps that %s takes alone, each with its own delay',
      async (_, one) => {
        for (const [a, b] of [
          [
            [2, 2],
            [2, 2],
          ],
          [
            [2, 2],
            [2, 3],
          ],
        ] as const) {
          const wanted = { ...(await alone(one(), { a }, 7)) };
          // b stands first in its own tree, so that its numbers are those it has beside a
          const both = await paramsOf({ a, b });
          const groups = parameterGroups({
            groups: { first: one(), second: one() },
            of: { a: 'first', b: 'second' },
          });
          const copy = { b: await both['b']!.clone() };
          const before = await settledUndisposed(memory);
          const state = await groups.init(both);
          const single = await one().init(copy);
          for (let seed = 1; seed <= 7; seed++) {
            await stepped(groups, both, state, { seed });
            await stepped(one(), copy, single, { seed });
          }
          const found = await valuesOf(both);
          expect(found['a']).toEqual(wanted['a']);
          expect(found['b']).toEqual((await valuesOf(copy))['b']);
          state[Symbol.dispose]();
          single[Symbol.dispose]();
          await vi.waitFor(() => expect(undisposed(memory())).toEqual(before));
          dispose(both);
          dispose(copy);
        }
      },
    );

    it('throw after a matrix of one group has failed four times, of muon’s fallback too', async () => {
      const shapes = { a: [2, 2], b: [3] } as const;
      const cases = [
        parameterGroups({
          groups: { plain: shampoo(), bad: shampoo({ frequency: 1, mergeDims: false }) },
          of: { a: 'bad', b: 'plain' },
        }),
        muon({ matrices: (path) => path === 'b2', fallback: soap({ frequency: 1 }) }),
      ];
      for (const optimiser of cases) {
        const params = await paramsOf(shapes);
        using state = await optimiser.init(params);
        await stepped(optimiser, params, state, { seed: 1 });
        await state.tensors.get('a/factor0.0')?.fill(NaN);
        for (let seed = 2; seed <= 5; seed++) await stepped(optimiser, params, state, { seed });
        const last = stepped(optimiser, params, state, { seed: 6 });
        await expect(last).rejects.toMatchObject({ code: 'NO_PRECONDITIONER' });
        expect(await state.tensors.get('count')?.item()).toBe(5);
        dispose(params);
      }
    });

    it('are refused in a prepared step, as alone', async () => {
      const params = await paramsOf({ a: [2, 2], b: [3] });
      const grads = await paramsOf({ a: [2, 2], b: [3] });
      const optimiser = parameterGroups({
        groups: { default: shampoo(), plain: sgd() },
        of: { b: 'plain' },
      });
      using state = await optimiser.init(params);
      const step = async (g: Params) => (await optimiser.step(params, g, state)).skipped;
      await expect(prepare(step, grads)).rejects.toMatchObject({ code: 'CAPTURED' });
      expect(await state.tensors.get('count')?.item()).toBe(0);
    });

    it('have their own numbers, statistics and columns in a group', async () => {
      const shapes = { w: [2, 3], v: [2, 2] } as const;
      const params = await paramsOf(shapes);
      const layer = async (weight: 'w' | 'v', seed: number): Promise<LayerStatistics> => ({
        kind: 'linear',
        weight,
        inputs: await make([4, shapes[weight][1]], seed),
        outputGradients: await make([4, 2], seed + 1),
      });
      const [ofW, ofV] = [await layer('w', 50), await layer('v', 60)];
      const perSample = await make([5, 10], 70);
      const options = { lr: 0.1, damping: 0.1 };
      const groups = parameterGroups({
        groups: { layers: kfac({ ...options, momentum: 0.5 }), others: naturalGradient(options) },
        of: { w: 'layers', v: 'others' },
      });
      const [w, v] = [{ w: await params['w']!.clone() }, { v: await params['v']!.clone() }];
      const [first, second] = [kfac({ ...options, momentum: 0.5 }), naturalGradient(options)];
      using state = await groups.init(params);
      using ofFirst = await first.init(w);
      using ofSecond = await second.init(v);
      expect(await state.tensors.get('layers:damping')?.item()).toBe(0.1);
      const columns = await perSample.slice(null, [6, 10]).clone();
      const tree = {
        w: await perSample.slice(null, [0, 6]).reshape([5, 2, 3]).clone(),
        v: await columns.reshape([5, 2, 2]).clone(),
      };
      for (const [at, given] of [perSample, tree, perSample].entries()) {
        const seed = at + 1;
        const extras = { statistics: [ofW, ofV], perSample: given } as StepExtras;
        await stepped(groups, params, state, { seed, extras });
        await stepped(first, w, ofFirst, { seed, extras: { statistics: [ofW] } });
        await stepped(second, v, ofSecond, { seed, extras: { perSample: columns } });
      }
      expect(await params['w']!.toNested()).toEqual(await w.w.toNested());
      expect(await params['v']!.toNested()).toEqual(await v.v.toNested());
      const missing = stepped(groups, params, state, { seed: 9, extras: { perSample } });
      await expect(missing).rejects.toMatchObject({ code: 'MISSING_STATISTICS' });
      expect(await state.tensors.get('count')?.item()).toBe(3);
    });

    it('refresh beside the steps of an accumulation, throw, and give all back', async () => {
      const params = await paramsOf({ a: [2, 2] });
      const before = await settledUndisposed(memory);
      const options = {
        betas: [0, 1],
        frequency: 3,
        delay: 2,
        start: 1,
        mergeDims: false,
      } as const;
      const optimiser = accumulate(shampoo(options), { every: 1 });
      const state = await optimiser.init(params);
      for (let seed = 1; seed <= 4; seed++) await stepped(optimiser, params, state, { seed });
      state[Symbol.dispose]();
      await vi.waitFor(() => expect(undisposed(memory())).toEqual(before));
      const failing = accumulate(shampoo({ frequency: 1, mergeDims: false }), { every: 2 });
      using other = await failing.init(params);
      await other.tensors.get('a/factor0.0')?.fill(NaN);
      for (let seed = 1; seed <= 9; seed++) await stepped(failing, params, other, { seed });
      const values = await valuesOf(params);
      const last = () => stepped(failing, params, other, { seed: 10 });
      await expect(last()).rejects.toMatchObject({ code: 'NO_PRECONDITIONER' });
      // the step that is refused is not counted
      expect(other.step).toBe(9);
      expect(await valuesOf(params)).toEqual(values);
      dispose(params);
    });

    it('have exact bases of the first gradient, where calls before it were skipped', async () => {
      for (const optimiser of [
        soap({ frequency: 10 }),
        soap({ frequency: 2, delay: 1 }),
        shampoo({ root: 'qr', frequency: 1, mergeDims: false, eps: 1e-3 }),
        shampoo({ root: 'qr', frequency: 2, start: 1, delay: 1, mergeDims: false, eps: 1e-3 }),
      ]) {
        const params = await paramsOf({ a: [3, 3] });
        using state = await optimiser.init(params);
        const bases = async (): Promise<unknown> => [
          await state.tensors.get('a/basis0.0')?.toNested(),
          await state.tensors.get('a/basis0.1')?.toNested(),
        ];
        for (let k = 0; k < 2; k++) {
          const is = await stepped(optimiser, params, state, { seed: 1, change: () => NaN });
          expect(is).toBe(1);
        }
        using whole = await optimiser.init(params);
        const seed = 3;
        for (let k = 0; k < 2; k++) {
          await stepped(optimiser, params, state, { seed });
          await stepped(optimiser, params, whole, { seed });
        }
        expect(await bases()).toEqual([
          await whole.tensors.get('a/basis0.0')?.toNested(),
          await whole.tensors.get('a/basis0.1')?.toNested(),
        ]);
        dispose(params);
      }
    });

    it('count the factors that were added, of K-FAC', async () => {
      const params = await paramsOf({ w: [2, 2] });
      const optimiser = kfac({ lr: 0, damping: 1, factorBeta: 0.5 });
      const statistics = async (bad: boolean): Promise<readonly LayerStatistics[]> => {
        const inputs = await make([3, 2], 1);
        if (bad) await inputs.fill(Infinity);
        return [{ kind: 'linear', weight: 'w', inputs, outputGradients: await make([3, 2], 2) }];
      };
      using state = await optimiser.init(params);
      using plain = await optimiser.init(params);
      const take = async (of: OptimiserState, bad: boolean) =>
        stepped(optimiser, params, of, { seed: 1, extras: { statistics: await statistics(bad) } });
      await take(plain, false);
      const wanted = await plain.tensors.get('w/inverseA')?.toNested();
      for (let k = 0; k < 4; k++) await take(state, k < 3);
      // at the fourth call there are no inverses; they are of the sixth
      for (let k = 0; k < 2; k++) await take(state, true);
      expect(await state.tensors.get('w/added')?.item()).toBe(1);
      expect(await state.tensors.get('w/inverseA')?.toNested()).toEqual(wanted);
      dispose(params);
    });

    describe('what is wrong with gradients of examples', () => {
      it.each([
        ['a function that throws', () => Promise.reject(new Error('no batch')), /no batch/],
        [
          'examples of another shape',
          async () => ({ w: await make([2, 5], 1) }),
          /SHAPE|should be/,
        ],
        [
          'whole numbers',
          async () => ({ w: await tensor([[1, 2, 3]], { device: on(), dtype: 'int32' }) }),
          /perSample of w is int32/,
        ],
      ] as const)('is found before anything is written: %s', async (_, perSample, message) => {
        const params = await paramsOf({ w: [3] });
        const optimiser = naturalGradient();
        using state = await optimiser.init(params);
        const extras = { perSample } as StepExtras;
        await expect(stepped(optimiser, params, state, { seed: 1, extras })).rejects.toThrow(
          message,
        );
        expect(await state.tensors.get('count')?.item()).toBe(0);
        expect(state.step).toBe(0);
        dispose(params);
      });
    });
  });
}
