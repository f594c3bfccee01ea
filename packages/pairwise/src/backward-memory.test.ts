import { device, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import { cdistBackward, kernels, runKernelBackward } from './index.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

const cpu = device('cpu');
const live = (): number => undisposedBytes(cpu);

const make = (shape: number[], seed: number): Promise<Tensor<'float32' | 'float64'>> => {
  const size = shape.reduce((product, extent) => product * extent, 1);
  return tensor(normalValues(size, seed), { shape, dtype: 'float64', device: cpu });
};

async function expectKept(run: () => Promise<Readonly<Record<string, Tensor>>>): Promise<void> {
  const before = live();
  const gradients = Object.values(await run());
  expect(live() - before).toBe(gradients.reduce((total, { bytes }) => total + bytes, 0));
  for (const gradient of gradients) gradient.dispose();
  expect(live()).toBe(before);
}

/** Bytes that `run` has at most beyond what is live: others' memory up to the peak so far is taken meanwhile. */
async function peakOf(run: () => Promise<Readonly<Record<string, Tensor>>>): Promise<number> {
  for (const gradient of Object.values(await run())) gradient.dispose();
  await cpu.synchronize();
  const { peakBytes, liveBytes } = cpu.memory();
  const rest = cpu.allocate(peakBytes - liveBytes);
  const gradients = Object.values(await run());
  const taken = cpu.memory().peakBytes - peakBytes;
  for (const one of [...gradients, rest]) one.dispose();
  return taken;
}

it('has nothing of the size of the result while it computes', async () => {
  const [m, n, k] = [400, 500, 3];
  const [g, a, b] = [await make([m, n], 1), await make([m, k], 2), await make([n, k], 3)];
  const result = 8 * m * n;
  const both = await peakOf(() => cdistBackward(g, a, b, { p: 2.2, wrt: ['a', 'b', 'p'] }));
  expect(both).toBeGreaterThanOrEqual(8 * (m * k + n * k + 1));
  expect(both).toBeLessThan(result / 10);
  const kernel = await peakOf(() =>
    runKernelBackward(kernels.gaussian, g, a, b, { bandwidth: 1, wrt: ['a', 'b', 'bandwidth'] }),
  );
  expect(kernel).toBeGreaterThanOrEqual(8 * (m * k + n * k + 1));
  expect(kernel).toBeLessThan(result / 10);
  for (const each of [g, a, b]) each.dispose();
});

it('cdistBackward keeps nothing but the gradients', async () => {
  const inputs = [
    await make([3, 9, 11], 1),
    await make([3, 9, 5], 2),
    await make([11, 5], 3),
  ] as const;
  await expectKept(() => cdistBackward(...inputs, { p: 2.2, wrt: ['a', 'b', 'p'] }));
  // strides that no single batch stride describes are copied
  const [g, a, b] = [
    await make([2, 3, 9, 9], 4),
    await make([2, 1, 9, 5], 5),
    await make([3, 9, 5], 6),
  ];
  await expectKept(() => cdistBackward(g, a, b, { wrt: ['a', 'b'] }));
  for (const each of [...inputs, g, a, b]) each.dispose();
});

it('runKernelBackward keeps nothing but the gradients', async () => {
  const [g, x] = [await make([4, 4], 1), await make([4, 3], 2)];
  const options = { scale: 2, bandwidth: 1, regularization: 0.5 };
  await expectKept(() =>
    runKernelBackward(kernels.gaussian, g, x, {
      ...options,
      wrt: ['a', 'scale', 'bandwidth', 'regularization'],
    }),
  );
  await expectKept(() =>
    runKernelBackward(kernels.gaussian, g, x, {
      ...options,
      symmetric: false,
      wrt: ['a'],
    }),
  );
  g.dispose();
  x.dispose();
});

it('a call that fails keeps nothing', async () => {
  const [g, a, b] = [await make([4, 5], 1), await make([4, 3], 2), await make([5, 3], 3)];
  const before = live();
  await expect(cdistBackward(b, a, b)).rejects.toThrow('gradient has shape');
  expect(live()).toBe(before);
  for (const each of [g, a, b]) each.dispose();
});
