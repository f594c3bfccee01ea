import { devices, planOf, tensor, zeros } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import { kernels, runKernel } from './index.js';
import { expectLevelMemory } from './memory-level.test-support.js';
import { describePrecompile } from './precompile-suite.test-support.js';
import { describeRunKernel } from './run-kernel-suite.test-support.js';
import { together } from './together.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('runKernel on a GPU: no device');

for (const gpu of gpus) {
  describe(`runKernel on ${gpu.id}`, () => {
    describeRunKernel(() => gpu, { full: true });
    describePrecompile(() => gpu);

    it('numbers more than 2^31 outputs, symmetric and not', { timeout: 120_000 }, async () => {
      const [m, k] = [50_000, 3];
      const a = normalValues(m * k, 1);
      const x = await tensor(a, { shape: [m, k], dtype: 'float32', device: gpu });
      const row = (i: number): Float64Array => a.subarray(i * k, i * k + k);
      const squared = (i: number, j: number): number =>
        row(i).reduce((sum, value, f) => sum + (value - (row(j)[f] ?? NaN)) ** 2, 0);
      for (const symmetric of [true, false]) {
        using out = await runKernel(kernels.gaussian, x, {
          bandwidth: 1,
          regularization: 0.5,
          symmetric,
        });
        for (const i of [0, 21_474, 42_949, 42_950, m - 1]) {
          using part = out.slice([i, i + 1]);
          const values = await part.toTypedArray();
          for (const j of [0, 1, 25_000, i, m - 1]) {
            const want = i === j ? 1.5 : Math.exp(-squared(i, j) / 2);
            expect(values[j]).toBeCloseTo(want, 5);
          }
        }
      }
    });

    it('covers large and thin shapes with every strategy', { timeout: 120_000 }, async () => {
      const strategies = new Set<string>();
      const shapes = [
        [2000, 2000, 256],
        [3, 4000, 512],
        [4000, 3000, 2],
        [40, 40, 8192],
      ] as const;
      await together(shapes, async ([m, n, k]) => {
        const [a, b] = [normalValues(m * k, 3), normalValues(n * k, 4)];
        const x = await tensor(a, { shape: [m, k], dtype: 'float32', device: gpu });
        const y = await tensor(b, { shape: [n, k], dtype: 'float32', device: gpu });
        const bandwidth = await tensor([k], { dtype: 'float32', device: gpu });
        using laplace = await runKernel(kernels.laplace, x, y, { bandwidth });
        using power = await runKernel(kernels.polynomial, x, y, {
          gamma: 1 / k,
          offset: 1,
          degree: 3,
        });
        const [l, p] = [await laplace.toTypedArray(), await power.toTypedArray()];
        for (const [i, j] of [
          [0, 0],
          [m - 1, n - 1],
          [m >> 1, n >> 1],
        ] as const) {
          let [sum, product] = [0, 0];
          for (let f = 0; f < k; f++) {
            const [u, v] = [a[i * k + f] ?? NaN, b[j * k + f] ?? NaN];
            sum += Math.abs(u - v);
            product += u * v;
          }
          expect(l[i * n + j]).toBeCloseTo(Math.exp(-sum / k), 4);
          expect(p[i * n + j]).toBeCloseTo((product / k + 1) ** 3, 3);
        }
        const plan = planOf(laplace);
        if (plan?.kind === 'cuda' && 'strategy' in plan) strategies.add(plan.strategy);
      });
      expect([...strategies].sort()).toEqual(['dot', 'outer', 'tile']);
    });

    it('keeps device memory level over 10,000 calls', { timeout: 120_000 }, async () => {
      const x = await zeros([64, 16], { dtype: 'float32', device: gpu });
      const bandwidth = await tensor([1, 2], { dtype: 'float32', device: gpu });
      const call = await runKernel.prepare(kernels.gaussian, x, { bandwidth, scale: 2 });
      await expectLevelMemory(gpu, 10_000, () => {
        call(x).dispose();
      });
    });
  });
}
