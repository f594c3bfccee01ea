import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { adam, adamW, muon, sgd } from '../index.js';
import type { Optimiser } from '../optimiser.js';
import {
  compare,
  disposeTree,
  gradientAt,
  initial,
  treeOf,
  valuesOf,
  type Reference,
} from '../testing/trajectory.test-support.js';
import { TORCH } from './torch-values.test-support.js';
import { adamReference, muonReference, sgdReference } from './references.test-support.js';

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
  ...(
    [
      [{}, {}],
      [
        { lr: 0.05, momentum: 0.8, nesterov: false, weightDecay: 0.1, scale: 'rms' },
        { lr: 0.05, momentum: 0.8, nesterov: false, weightDecay: 0.1, scale: 0.2 * 2 },
      ],
    ] as const
  ).map(([options, ofReference]): Case => [
    `muon ${JSON.stringify(options)}, and adamW for what is no matrix`,
    () => muon({ ...options, products: 'state' }),
    () => {
      const matrix = muonReference({ rows: 3, columns: 4, ...ofReference });
      const others = adamReference({ weightDecay: 1e-2, decoupled: true });
      return (params, grads, t) => {
        const [first = [], ...rest] = params;
        const [gradient = [], ...more] = grads;
        // what is empty is a matrix too
        matrix(first, gradient);
        others(rest, more, t);
      };
    },
  ]),
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

    it.each(TORCH.firstOrder)(
      '$optimiser takes the steps of torch.optim with $options',
      async ({ optimiser, options, params: wanted }) => {
        const one = { sgd, adam, adamW }[optimiser](options);
        const params = await treeOf(initial(), device(), 'float64');
        using state = await one.init(params);
        for (let t = 1; t <= 20; t++) {
          // gradients at the parameters themselves
          const grads = await treeOf(gradientAt(await valuesOf(params), t), device(), 'float64');
          (await one.step(params, grads, state)).skipped.dispose();
          disposeTree(grads);
        }
        const found = await valuesOf(params);
        for (const [s, values] of wanted.entries()) {
          for (const [i, x] of values.entries()) expect(found[s]?.[i]).toBeCloseTo(x, 10);
        }
        disposeTree(params);
      },
    );

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

    it('muon takes products on the shorter side, of several matrices of a shape at once, and of kernels as matrices', async () => {
      const shapes = [
        [5, 3],
        [2, 7],
        [5, 3],
        [2, 7, 1, 1],
      ] as const;
      const values = (seed: number): number[][] =>
        shapes.map((shape, s) =>
          Array.from({ length: shape[0] * shape[1] }, (_, i) => Math.sin(seed + 7 * s + 2.3 * i)),
        );
      const made = (all: readonly number[][]) =>
        Promise.all(
          all.map((one, s) =>
            tensor(Float64Array.from(one), { shape: [...(shapes[s] ?? [])], device: device() }),
          ),
        );
      const wanted = values(1);
      const params = await made(wanted);
      const optimiser = muon({ products: 'state' });
      using state = await optimiser.init(params);
      const references = shapes.map(([rows, columns]) => muonReference({ rows, columns }));
      for (let t = 1; t <= 5; t++) {
        const at = values(10 * t);
        const grads = await made(at);
        (await optimiser.step(params, grads, state)).skipped.dispose();
        for (const [s, step] of references.entries()) step(wanted[s] ?? [], at[s] ?? []);
        for (const [s, one] of params.entries()) {
          const found = (await one.toTypedArray()) as Float64Array;
          for (const [i, x] of (wanted[s] ?? []).entries()) {
            expect(Math.abs((found[i] ?? NaN) - x)).toBeLessThan(1e-10);
          }
        }
        for (const one of grads) one.dispose();
      }
      for (const one of params) one.dispose();
    });

    it('muon rounds products to bfloat16 by default', async () => {
      const values = Array.from({ length: 12 }, (_, i) => Math.sin(2.3 * i));
      const make = () => tensor(Float32Array.from(values), { shape: [3, 4], device: device() });
      const exact = [...values];
      const step = muonReference({ rows: 3, columns: 4 });
      step(exact, values);
      using w = await make();
      using g = await make();
      const optimiser = muon();
      using state = await optimiser.init(w);
      (await optimiser.step(w, g, state)).skipped.dispose();
      const found = (await w.toTypedArray()) as Float32Array;
      const errors = exact.map((x, i) => Math.abs((found[i] ?? NaN) - x) / 0.02);
      // five iterations whose slope is up to 3.4, each rounded to 8 bits
      expect(Math.max(...errors)).toBeLessThan(0.2);
      expect(Math.max(...errors)).toBeGreaterThan(1e-4);
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
