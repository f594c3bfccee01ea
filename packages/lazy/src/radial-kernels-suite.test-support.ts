import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { genred } from './index.js';

/** Kernels of a squared distance that are 1 at 0, as text, with h = 0.75. */
const KERNELS = [
  ...[0.3, 0.5, 1, 1.3, 1.5, 2, 2.5, 3.5, 5.5, 7.2].map((nu) => `Matern(s, ${nu}, h)`),
  ...['Wendland(s, 3, 1, h)', 'Wendland(s, 5, 2, h)', 'Wendland(s, 1, 0, h)'],
  ...['Gaussian(s, h)', 'Exponential(s, h)', 'Cauchy(s, h)', 'InverseMultiquadric(s, h)'],
  ...['GeneralizedExponential(s, 1.2, h)', 'RationalQuadratic(s, 1.3, h)'],
];

/** Kernels that are 1 at 0 are so exactly, and nowhere larger. */
export function describeRadialKernels(device: () => Device): void {
  describe('radial kernels', () => {
    it.each(['float32', 'float64'] as const)(
      'are exactly 1 at 0 and never above, in %s',
      async (dtype) => {
        const near = Array.from({ length: 500 }, (_, i) => 0.84 ** i);
        const s = [0, -0, ...near, 1e-38, 1e-40, 1e-300];
        const rows = await tensor(s, { shape: [s.length, 1], dtype, device: device() });
        const h = await tensor([0.75], { dtype, device: device() });
        for (let first = 0; first < KERNELS.length; first += 7) {
          const some = KERNELS.slice(first, first + 7);
          const all = genred(`Concat(${some.join(', ')})`, ['s = Vi(1)', 'h = Pm(1)'], {
            axis: 'j',
          });
          const values = await (await all(rows, h)).toTypedArray();
          expect([...values.slice(0, 2 * some.length)]).toEqual(new Array(2 * some.length).fill(1));
          for (const [c, name] of some.entries()) {
            const own = s.map((at, row) => ({ name, at, value: values[row * some.length + c] }));
            expect(own.filter(({ value = NaN }) => !(value <= 1))).toEqual([]);
          }
        }
      },
    );
  });
}
