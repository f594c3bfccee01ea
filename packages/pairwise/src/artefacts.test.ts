import { defaultKernels } from '@mercer/kernels';
import { device, tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { cdist } from './index.js';

const cpu = device('cpu');
/** The smallest positive number: gone as soon as anything flushes denormals, on this thread or in the pool. */
const smallest = [5e-324, -5e-324, 2.2250738585072009e-308];

async function expectDenormals(after: string): Promise<void> {
  const here = JSON.stringify([5e-324, Number.MIN_VALUE * 1]);
  expect(here, `on the JS thread after ${after}`).toBe('[5e-324,5e-324]');
  // A distance from 0 is a subtraction and an absolute value in every lane of a pool thread.
  const x = await tensor(smallest, { shape: [3, 1], dtype: 'float64', device: cpu });
  const zero = await tensor([0], { shape: [1, 1], dtype: 'float64', device: cpu });
  const d = await cdist(x, zero, { p: 1 });
  const kept = [...(await d.toTypedArray())];
  for (const made of [x, zero, d]) made.dispose();
  expect(kept, `in the pool after ${after}`).toEqual(smallest.map(Math.abs));
}

describe('artefacts of the CPU', () => {
  it(
    'leave denormals alone, every default kernel of every family',
    { timeout: 600_000 },
    async () => {
      await expectDenormals('nothing');
      const kernels = defaultKernels(cpu.limits);
      expect(kernels.length).toBeGreaterThan(100);
      let loaded = 0;
      for (let first = 0; first < kernels.length; first += 16) {
        const group = kernels.slice(first, first + 16);
        await Promise.all(group.map(({ kernel }) => cpu.load(kernel)));
        loaded += group.length;
        await expectDenormals(group.map(({ name }) => name).join(', '));
      }
      expect(loaded).toBe(kernels.length);
    },
  );
});
