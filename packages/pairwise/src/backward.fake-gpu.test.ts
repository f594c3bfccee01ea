import { zeros, device, type Device, type Tensor } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cdistBackward } from './index.js';

const hasNvrtc = nvrtcFound();

/** A GPU that compiles and accepts launches, but computes nothing: which kernels gradients launch. */
describe.skipIf(!hasNvrtc)('gradients behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 31 });
    gpu = device('cuda:0');
  });

  afterEach(() => {
    gpu.memoryLimitBytes = undefined;
  });

  const [m, n] = [300, 200];
  const operands = async (
    k: number,
  ): Promise<[Tensor<'float32'>, Tensor<'float32'>, Tensor<'float32'>]> => [
    await zeros([m, n], { dtype: 'float32', device: gpu }),
    await zeros([m, k], { dtype: 'float32', device: gpu }),
    await zeros([n, k], { dtype: 'float32', device: gpu }),
  ];
  /** How many launches of a call store the sums of pairs. */
  const stores = async (k: number, p: number): Promise<number> => {
    const lines: string[] = [];
    const [g, a, b] = await operands(k);
    await cdistBackward(g, a, b, { p, debug: (line) => lines.push(line) });
    return lines.filter((line) => line.startsWith('launch') && line.includes('pairwise')).length;
  };

  it('store the sums of many components once for both gradients, and of products from more on', async () => {
    expect(await stores(28, 1.3)).toBe(0);
    expect(await stores(29, 1.3)).toBe(1);
    expect(await stores(128, 2)).toBe(0);
    expect(await stores(129, 2)).toBe(1);
    // the gradient of the 1-norm reads no sum
    expect(await stores(64, 1)).toBe(0);
  });

  it('store nothing of more than a quarter of what the device may use', async () => {
    gpu.memoryLimitBytes = 4 * m * n * 4;
    expect(await stores(40, 1.3)).toBe(1);
    gpu.memoryLimitBytes -= 1;
    expect(await stores(40, 1.3)).toBe(0);
  });

  it('keep to what they were prepared for', async () => {
    const [g, a, b] = await operands(40);
    const prepared = await cdistBackward.prepare(g, a, b, { p: 1.3 });
    gpu.memoryLimitBytes = 4 * m * n * 4 - 1;
    expect(prepared(g, a, b).a.shape).toEqual([m, 40]);
  });
});
