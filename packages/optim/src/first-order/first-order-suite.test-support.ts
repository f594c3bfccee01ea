import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { adam, adamW, sgd } from '../index.js';
import type { Optimiser } from '../optimiser.js';
import {
  compare,
  disposeTree,
  initial,
  treeOf,
  valuesOf,
  type Reference,
} from '../testing/trajectory.test-support.js';
import { adamReference, sgdReference } from './references.test-support.js';

type Case = readonly [name: string, optimiser: () => Optimiser, reference: () => Reference];

const CASES: readonly Case[] = [
  ['sgd', () => sgd({ lr: 0.05 }), () => sgdReference({ lr: 0.05 })],
  ...[
    { lr: 0.05, momentum: 0.9 },
    { lr: 0.05, momentum: 0.9, dampening: 0.3, weightDecay: 0.1 },
    { lr: 0.05, momentum: 0.8, nesterov: true, weightDecay: 0.05 },
    { lr: 0.05, weightDecay: 0.1 },
    { lr: 0.05, momentum: 0.5, weightDecay: 0.1, decoupled: true },
  ].map((options): Case => [
    `sgd ${JSON.stringify(options)}`,
    () => sgd(options),
    () => sgdReference(options),
  ]),
  ['adam', () => adam(), () => adamReference({})],
  [
    'adam with its options and a schedule',
    () => adam({ lr: (t) => 0.1 / t, betas: [0.8, 0.95], eps: 1e-3, weightDecay: 0.1 }),
    () => adamReference({ lr: (t) => 0.1 / t, betas: [0.8, 0.95], eps: 1e-3, weightDecay: 0.1 }),
  ],
  [
    'adamW',
    () => adamW({ lr: 0.02 }),
    () => adamReference({ lr: () => 0.02, weightDecay: 1e-2, decoupled: true }),
  ],
];

/** Optimisers of first order, tested on any device. */
export function firstOrderSuite(name: string, device: () => Device): void {
  describe(`optimisers of first order on ${name}`, () => {
    describe.each(CASES)('%s', (_, optimiser, reference) => {
      it('takes the steps of the formulas in float64', () =>
        compare(optimiser(), reference(), { device: device(), dtype: 'float64', within: 1e-10 }));

      it('takes them in float32', () =>
        compare(optimiser(), reference(), { device: device(), dtype: 'float32', within: 1e-4 }));
    });

    it('read lr of a tensor', async () => {
      using lr = await tensor(0.02, { device: device() });
      await compare(
        adamW({ lr }),
        adamReference({ lr: () => Math.fround(0.02), weightDecay: 1e-2, decoupled: true }),
        {
          device: device(),
          dtype: 'float64',
          within: 1e-10,
        },
      );
    });

    it('compute parameters of float16 and bfloat16 from masters in float32', async () => {
      for (const dtype of ['float16', 'bfloat16'] as const) {
        const bits = dtype === 'float16' ? 11 : 8;
        const params = await treeOf(initial(), device(), dtype);
        const masters = await treeOf(await valuesOf(params), device(), 'float32');
        const optimiser = adam({ lr: 1e-4 });
        using state = await optimiser.init(params);
        using ofMasters = await optimiser.init(masters);
        for (let t = 1; t <= 10; t++) {
          const grads = await treeOf(await valuesOf(params), device(), 'float32');
          (await optimiser.step(params, grads, state)).skipped.dispose();
          (await optimiser.step(masters, grads, ofMasters)).skipped.dispose();
          disposeTree(grads);
        }
        const wanted = await valuesOf(masters);
        const kept = await state.tensors.get('layers[0].weight/master')?.toTypedArray();
        expect(Array.from(kept as Float32Array)).toEqual(wanted[0]);
        for (const [s, one] of (await valuesOf(params)).entries()) {
          for (const [i, x] of one.entries()) {
            const w = wanted[s]?.[i] ?? NaN;
            expect(Math.abs(x - w)).toBeLessThanOrEqual(Math.abs(w) * 2 ** -bits);
          }
        }
        disposeTree(params);
        disposeTree(masters);
      }
    });

    it('skip a step whose gradient is not finite, and count', async () => {
      for (const bad of [NaN, Infinity, -Infinity]) {
        const params = await treeOf(initial(), device(), 'float32');
        const before = await valuesOf(params);
        const optimiser = adam({ lr: 0.1 });
        using state = await optimiser.init(params);
        const values = initial();
        (values[1] as number[])[2] = bad;
        const grads = await treeOf(values, device(), 'float32');
        const { skipped } = await optimiser.step(params, grads, state);
        expect(await skipped.item()).toBe(1);
        expect(await valuesOf(params)).toEqual(before);
        expect(await state.tensors.get('layers[0].weight/m')?.max().item()).toBe(0);
        expect(await state.tensors.get('count')?.item()).toBe(0);
        expect(await state.tensors.get('skips')?.item()).toBe(1);
        expect(state.step).toBe(1);
        // the next step is the first that is taken
        const good = await treeOf(initial(), device(), 'float32');
        const next = await optimiser.step(params, good, state);
        expect(await next.skipped.item()).toBe(0);
        expect(await state.tensors.get('count')?.item()).toBe(1);
        const moved = await valuesOf(params);
        expect(Math.abs((moved[0]?.[0] ?? 0) - (before[0]?.[0] ?? 0))).toBeCloseTo(0.1, 5);
      }
    });
  });
}
