import { jitCache, zeros, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  cosine,
  gaussianL2,
  l1Norm,
  pNorm,
  polynomial,
  precompile,
  runKernel,
  type PrecompileOptions,
} from './index.js';

/** What `precompile` promises, for one device. */
export function describePrecompile(device: () => Device): void {
  const small = (): PrecompileOptions => ({
    device: device(),
    layouts: [['row', 'row', 'row']],
    sizes: [{ m: 24, n: 24, k: 12 }],
  });
  const compiles = async (): Promise<number> => (await jitCache().stats()).counters.compiles;

  describe('precompile', () => {
    it('compiles what later calls need, and tells how far it is', async () => {
      const steps: string[] = [];
      const { kernels } = await precompile(
        [
          l1Norm,
          { descriptor: gaussianL2, symmetric: true, regularization: true },
          { descriptor: gaussianL2, scale: true },
          cosine,
          { descriptor: pNorm, p: 2.25 },
          { descriptor: pNorm, p: 'tensor' },
          { descriptor: polynomial, degree: 4 },
        ],
        {
          ...small(),
          onProgress: ({ done, total }) => steps.push(`${done}/${total}`),
        },
      );
      expect(kernels).toBeGreaterThanOrEqual(9);
      expect(steps).toEqual(Array.from({ length: kernels }, (_, i) => `${i + 1}/${kernels}`));
      const before = await compiles();
      const x = await zeros([24, 12], { dtype: 'float32', device: device() });
      const y = await zeros([24, 12], { dtype: 'float32', device: device() });
      const p = await zeros([1], { dtype: 'float32', device: device() });
      for (const result of [
        await runKernel(l1Norm, x, y),
        await runKernel(gaussianL2, x, undefined, { bandwidth: 3, regularization: 1 }),
        await runKernel(gaussianL2, x, y, { bandwidth: 3, scale: 2 }),
        await runKernel(cosine, x, y),
        await runKernel(pNorm, x, y, { p: 2.25 }),
        await runKernel(pNorm, x, y, { p }),
        await runKernel(polynomial, x, y, { gamma: 1, offset: 0, degree: 4 }),
      ]) {
        result.dispose();
      }
      expect(await compiles()).toBe(before);
    });

    it('compiles nothing twice', async () => {
      await precompile([l1Norm], small());
      const before = await compiles();
      const once = await precompile([l1Norm], small());
      expect(await precompile([l1Norm, l1Norm], small())).toEqual(once);
      expect(await compiles()).toBe(before);
      expect(await precompile([], small())).toEqual({ kernels: 0 });
    });

    it('has kernels for each dtype, layout and alignment', async () => {
      const count = async (options: PrecompileOptions): Promise<number> =>
        (await precompile([l1Norm], { ...small(), ...options })).kernels;
      const one = await count({ align: false });
      expect(one).toBe(1);
      expect(await count({ align: false, dtypes: ['float32', 'float64'] })).toBe(2);
      const layouts = [
        ['row', 'row', 'row'],
        ['column', 'row', 'row'],
      ] as const;
      expect(await count({ align: false, layouts })).toBe(2);
      // The host's kernels do not depend on alignment; a GPU's do.
      const aligned = await count({});
      if (device().kind === 'cuda') expect(aligned).toBeGreaterThan(1);
      else expect(aligned).toBe(1);
    });
  });
}
