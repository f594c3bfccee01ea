import { valueAndGrad } from '@mercer/autodiff';
import { random, tensor, zeros, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { shampoo, type ShampooOptions } from '../index.js';
import { compare, type Reference } from '../testing/trajectory.test-support.js';
import { ofSymmetric } from './jacobi.test-support.js';
import { shampooReference, type ShampooReference } from './shampoo-reference.test-support.js';

/** The test's shapes, (3, 4), (4), () and (0, 2), as they are, and merged. */
const APART = [[3, 4], [4], [1], [0, 2]];
const MERGED = [[12], [4], [1], [0, 2]];

// a root of the sum of few gradients is too badly conditioned for float32 with a small eps
// QR iterations follow what is of full rank: before, eigenvectors are any of many
const CASES: readonly ShampooOptions[] = [
  { mergeDims: false, grafting: 'none', eps: 1e-2 },
  { eps: 0.1, lr: 0.05 },
  {
    maxDim: 3,
    mergeDims: false,
    grafting: 'none',
    betas: [0.8, 0.9],
    beta3: 0.5,
    eps: 1e-2,
    frequency: 3,
    start: 2,
  },
  { mergeDims: false, grafting: 'adam', frequency: 4, delay: 2, eps: 1e-2, weightDecay: 0.1 },
  {
    maxDim: 2,
    mergeDims: false,
    grafting: 'rmsprop',
    betas: [0, 0.95],
    eps: 1e-2,
    momentum: 0.9,
    dampening: 0.2,
  },
  {
    mergeDims: false,
    grafting: 'adagrad',
    eps: 1e-2,
    momentum: 0.8,
    nesterov: true,
    weightDecay: 0.1,
    decay: 'l2',
  },
  {
    mergeDims: false,
    grafting: 'sgd',
    eps: 1e-2,
    lr: (t) => 0.1 / t,
    weightDecay: 0.1,
    decay: 'corrected',
    peakLr: 0.1,
  },
  { mergeDims: false, grafting: 'sgd', betas: [0, 1], eps: 1e-2, maxDim: 3 },
  {
    mergeDims: false,
    grafting: 'none',
    eps: 1e-2,
    weightDecay: 1e-3,
    decay: 'independent',
    traceScaling: true,
  },
  { mergeDims: false, grafting: 'none', eps: 0.1, root: 'newton' },
  { mergeDims: false, eps: 0.1, root: 'higherOrder', rootSteps: 30 },
  {
    mergeDims: false,
    grafting: 'none',
    eps: 0.1,
    root: 'qr',
    start: 8,
    frequency: 2,
    delay: 1,
    betas: [0.9, 0.9],
  },
];

const TF32 = { mergeDims: false, grafting: 'adam', eps: 0.1, precision: 'tf32' } as const;

const referenceOf = ({ lr = 1e-2, root, mergeDims, ...options }: ShampooOptions): Reference => {
  const rate = (t: number): number => (typeof lr === 'function' ? lr(t) : Number(lr));
  const merged = mergeDims === false ? APART : MERGED;
  return shampooReference({ ...options, lr: rate, merged, qr: root === 'qr' } as ShampooReference);
};

/** Shampoo, tested on any device. */
export function shampooSuite(name: string, on: () => Device): void {
  describe(`shampoo on ${name}`, () => {
    it('goes down between refreshes with all else as it is by default', async () => {
      const make = (seed: number, shape: readonly number[]) =>
        random.normal(shape, { key: random.key(seed), device: on() });
      const [x, w] = [await make(1, [32, 5]), await make(2, [5, 3])];
      const params = { w: await make(3, [5, 3]).mul(0.1) };
      const y = await x.matmul(w);
      const loss = valueAndGrad((p: typeof params) => x.matmul(p.w).sub(y).square().mean());
      const optimiser = shampoo({ frequency: 10 });
      const state = await optimiser.init(params);
      const losses: number[] = [];
      for (let step = 0; step < 40; step++) {
        const { value, grad } = await loss(params);
        losses.push(Number(await value.item()));
        await optimiser.step(params, grad, state);
      }
      expect(Math.max(...losses)).toBeLessThan(1.01 * (losses[0] ?? NaN));
      expect(losses.at(-1)).toBeLessThan(0.9 * (losses[0] ?? NaN));
    });

    it('takes the steps of the formulas along three axes', async () => {
      const options = { mergeDims: false, maxDim: 3, grafting: 'rmsprop', eps: 1e-2 } as const;
      const shape = [2, 3, 5];
      const reference = shampooReference({ ...options, merged: [shape] });
      const wave = (k: number): number => Math.sin(1.7 * k + 0.3);
      const of = (values: readonly number[]) =>
        tensor(Float64Array.from(values), { shape: [...shape], device: on(), dtype: 'float64' });
      const wanted = Array.from({ length: 30 }, (_, k) => wave(3 * k));
      const params = { w: await of(wanted) };
      const optimiser = shampoo(options);
      using state = await optimiser.init(params);
      for (let t = 1; t <= 20; t++) {
        const grads = wanted.map((x, k) => Math.sinh(x) + 0.1 * wave(31 * t + k));
        (await optimiser.step(params, { w: await of(grads) }, state)).skipped.dispose();
        reference([wanted], [grads], t);
        const found = await params.w.toTypedArray();
        for (const [k, x] of wanted.entries()) expect(found[k]).toBeCloseTo(x, 10);
      }
    });

    it.each(['newton', 'higherOrder'] as const)(
      'has roots by %s of factors that are singular but for rounding',
      async (root) => {
        const eps = 1e-6;
        const wave = (k: number): number => Math.sin(1.7 * k + 0.3);
        for (const [dtype, rootDType, rounding] of [
          ['float32', 'float32', 2 ** -23],
          ['float32', 'float64', 2 ** -23],
          ['float64', 'float64', 2 ** -52],
        ] as const) {
          const where = { device: on(), dtype };
          const params = { w: await zeros([24, 16], where) };
          const optimiser = shampoo({
            mergeDims: false,
            frequency: 'manual',
            eps,
            root,
            rootDType,
          });
          using state = await optimiser.init(params);
          // of rank 1, three times: all eigenvalues but one are the rounding of the largest, of either sign
          for (let t = 1; t <= 3; t++) {
            const gradient = Array.from(
              { length: 24 * 16 },
              (_, k) => 300 * wave(Math.floor(k / 16)) * wave(5 * (k % 16)),
            );
            using w = await tensor(Float64Array.from(gradient), { shape: [24, 16], device: on() });
            (await optimiser.step(params, { w: await w.cast(dtype) }, state)).skipped.dispose();
          }
          using failures = (await optimiser.refresh(params, state)).failures;
          expect([dtype, rootDType, await failures.item()]).toEqual([dtype, rootDType, 0]);
          for (const axis of [0, 1]) {
            const slot = async (name: string): Promise<number[][]> =>
              (await state.tensors.get(`w/${name}0.${axis}`)!.toNested<number[][][]>())[0]!;
            const factor = await slot('factor');
            const rows = factor.map((row) => row.reduce((sum, x) => sum + Math.abs(x), 0));
            const ridge = Math.max(eps, 100 * rounding * Math.max(...rows));
            const wanted = ofSymmetric(factor, (x) => (Math.max(x, 0) + ridge) ** -0.25);
            const largest = Math.max(...wanted.flat());
            const found = (await slot('root')).flat();
            for (const [k, x] of wanted.flat().entries()) {
              expect(Math.abs((found[k] ?? NaN) - x)).toBeLessThan(0.02 * largest);
            }
          }
        }
      },
    );

    it('leaves float64 as it is where float32 has tf32', () =>
      compare(shampoo(TF32), referenceOf(TF32), {
        device: on(),
        dtype: 'float64',
        within: 1e-10,
      }));

    it('takes steps in tf32 that are near those of the formulas', () =>
      compare(shampoo(TF32), referenceOf(TF32), {
        device: on(),
        dtype: 'float32',
        within: 1e-2,
      }));

    describe.each(CASES)('%o', (options) => {
      it('takes the steps of the formulas in float64', () =>
        compare(shampoo(options), referenceOf(options), {
          device: on(),
          dtype: 'float64',
          within: 1e-10,
        }));

      it('takes them in float32', () =>
        compare(shampoo(options), referenceOf(options), {
          device: on(),
          dtype: 'float32',
          within: 1e-4,
        }));
    });
  });
}
