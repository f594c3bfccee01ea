import { jitCache, zeros, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { kernels, precompile, runKernel, type PrecompileOptions } from './index.js';

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
      const { kernels: compiled } = await precompile(
        [
          kernels.manhattan,
          { descriptor: kernels.gaussian, symmetric: true, regularization: true },
          { descriptor: kernels.gaussian, scale: true },
          kernels.cosine,
          { descriptor: kernels.minkowski, p: 2.25 },
          { descriptor: kernels.minkowski, p: 'tensor' },
          { descriptor: kernels.polynomial, degree: 4 },
        ],
        {
          ...small(),
          onProgress: ({ done, total }) => steps.push(`${done}/${total}`),
        },
      );
      // On a CPU the diagonal and the preparation of rows are built-in functions.
      if (device().kind === 'cuda') expect(compiled).toBeGreaterThanOrEqual(9);
      else expect(compiled).toBe(7);
      expect(steps).toEqual(Array.from({ length: compiled }, (_, i) => `${i + 1}/${compiled}`));
      const before = await compiles();
      const x = await zeros([24, 12], { dtype: 'float32', device: device() });
      const y = await zeros([24, 12], { dtype: 'float32', device: device() });
      const p = await zeros([1], { dtype: 'float32', device: device() });
      for (const result of [
        await runKernel(kernels.manhattan, x, y),
        await runKernel(kernels.gaussian, x, { bandwidth: 3, regularization: 1 }),
        await runKernel(kernels.gaussian, x, y, { bandwidth: 3, scale: 2 }),
        await runKernel(kernels.cosine, x, y),
        await runKernel(kernels.minkowski, x, y, { p: 2.25 }),
        await runKernel(kernels.minkowski, x, y, { p }),
        await runKernel(kernels.polynomial, x, y, { gamma: 1, offset: 0, degree: 4 }),
      ]) {
        result.dispose();
      }
      expect(await compiles()).toBe(before);
    });

    it('compiles nothing twice', async () => {
      await precompile([kernels.manhattan], small());
      const before = await compiles();
      const once = await precompile([kernels.manhattan], small());
      expect(await precompile([kernels.manhattan, kernels.manhattan], small())).toEqual(once);
      expect(await compiles()).toBe(before);
      expect(await precompile([], small())).toEqual({ kernels: 0 });
    });

    it('has kernels for each dtype, layout and alignment', async () => {
      const count = async (options: PrecompileOptions): Promise<number> =>
        (await precompile([kernels.manhattan], { ...small(), ...options })).kernels;
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
