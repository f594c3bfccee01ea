import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { soap, type SoapOptions } from '../index.js';
import { compare, gradientAt, type Reference } from '../testing/trajectory.test-support.js';
import {
  along,
  combined,
  gram,
  identity,
  jacobi,
  orthonormal,
  times,
  transposed,
  zeros,
} from './jacobi.test-support.js';

/** Vyas et al. 2024, algorithm 3, with the order of a step that the optimiser documents. */
function soapReference(
  options: SoapOptions,
  shapes: readonly (readonly number[])[],
  onOrder?: (order: readonly number[]) => void,
): Reference {
  const {
    betas = [0.95, 0.95],
    eps = 1e-8,
    weightDecay = 1e-2,
    frequency = 10,
    delay = 0,
  } = options;
  const { factorBeta = betas[1], lr = 3e-3, maxDim = 10000, iterations = 1 } = options;
  const [beta1, beta2] = betas;
  const memory = shapes.map((sizes) => {
    const size = sizes.reduce((product, x) => product * x, 1);
    return {
      m: new Array<number>(size).fill(0),
      v: new Array<number>(size).fill(0),
      factors: sizes.map((n) => zeros(n)),
      bases: sizes.map((n) => identity(n)),
      waiting: [] as { at: number; bases: number[][][]; orders: number[][] }[],
    };
  });
  return (params, grads, t) => {
    const rate = typeof lr === 'function' ? lr(t) : Number(lr);
    for (const [s, p] of params.entries()) {
      const sizes = shapes[s]!;
      const own = memory[s]!;
      const g = { sizes, data: grads[s]! };
      if (sizes.includes(0)) continue;
      const turned = sizes.map((n) => sizes.length > 1 && n <= maxDim);
      own.factors = own.factors.map((l, k) =>
        turned[k] ? combined(l, factorBeta, gram(g, k), 1 - factorBeta) : l,
      );
      const refreshed = (): void => {
        const orders: number[][] = [];
        const bases = own.factors.map((l, k) => {
          const old = own.bases[k]!;
          const n = sizes[k]!;
          orders.push(Array.from({ length: n }, (_, i) => i));
          if (!turned[k]) return old;
          if (t === 1) return jacobi(l).vectors;
          const now = times(transposed(old), times(l, old));
          orders[k]!.sort((i, j) => now[j]![j]! - now[i]![i]!);
          onOrder?.(orders[k]!);
          let q = old.map((row) => orders[k]!.map((i) => row[i]!));
          for (let i = 0; i < iterations; i++) q = orthonormal(times(l, q));
          return q;
        });
        own.waiting.push({ at: t === 1 ? 1 : t + delay, bases, orders });
      };
      const take = (): void => {
        while (own.waiting[0]?.at === t) {
          const { bases, orders } = own.waiting.shift()!;
          own.bases = bases;
          const strides = sizes.map((_, k) => sizes.slice(k + 1).reduce((x, y) => x * y, 1));
          own.v = own.v.map((_, at) => {
            const from = sizes.map((n, k) => orders[k]![Math.floor(at / strides[k]!) % n]!);
            return own.v[from.reduce((sum, i, k) => sum + i * strides[k]!, 0)]!;
          });
        }
      };
      take();
      if (t === 1 || t % Number(frequency) === 0) refreshed();
      take();
      if (t === 1) continue;
      own.m = own.m.map((x, i) => beta1 * x + (1 - beta1) * g.data[i]!);
      let [rotated, mean] = [g, { sizes, data: own.m }];
      for (const [k, q] of own.bases.entries()) {
        rotated = along(rotated, transposed(q), k);
        mean = along(mean, transposed(q), k);
      }
      own.v = own.v.map((x, i) => beta2 * x + (1 - beta2) * rotated.data[i]! ** 2);
      let step = { sizes, data: mean.data.map((x, i) => x / (Math.sqrt(own.v[i]!) + eps)) };
      for (const [k, q] of own.bases.entries()) step = along(step, q, k);
      const length = (rate * Math.sqrt(1 - beta2 ** (t - 1))) / (1 - beta1 ** (t - 1));
      for (const [i, x] of step.data.entries())
        p[i] = (p[i]! - length * x) * (1 - rate * weightDecay);
    }
  };
}

// the first gradient alone gives factors of deficient rank, whose eigenvectors are any of many where their axis is longer than the other
const CASES: readonly SoapOptions[] = [
  { lr: 0.02, maxDim: 3 },
  { lr: 0.02, frequency: 5 },
  {
    lr: (t) => 0.05 / t,
    betas: [0.9, 0.8],
    factorBeta: 0.7,
    frequency: 3,
    eps: 1e-3,
    maxDim: 3,
    weightDecay: 0.1,
  },
  { lr: 0.02, frequency: 4, delay: 2, iterations: 2, maxDim: 3 },
  { lr: 0.02, frequency: 2, delay: 2, maxDim: 3, weightDecay: 0 },
  { lr: 0.02, maxDim: 2 },
];

/** SOAP, tested on any device. */
export function soapSuite(name: string, on: () => Device): void {
  describe(`soap on ${name}`, () => {
    const shapes = [[3, 4], [4], [1], [0, 2]];
    describe.each(CASES)('%o', (options) => {
      it('takes the steps of the formulas in float64', () =>
        compare(soap(options), soapReference(options, shapes), {
          device: on(),
          dtype: 'float64',
          within: 1e-10,
        }));

      it('takes them in float32', () =>
        compare(soap(options), soapReference(options, shapes), {
          device: on(),
          dtype: 'float32',
          within: 1e-4,
        }));
    });

    it('turns squares with bases whose columns change places', async () => {
      const options = { lr: 0.02, frequency: 2, factorBeta: 0.3, maxDim: 3 };
      const orders: string[] = [];
      const reference = soapReference(options, shapes, (order) => orders.push(order.join('')));
      await compare(soap(options), reference, {
        device: on(),
        dtype: 'float64',
        within: 1e-10,
        // another row is the largest every four steps
        gradients: (params, t) =>
          gradientAt(params, t).map((one) =>
            one.map((x, i) => x * (Math.floor(i / 4) === Math.floor(t / 4) % 3 ? 8 : 1)),
          ),
      });
      expect(new Set(orders).size).toBeGreaterThan(2);
    });
  });
}
