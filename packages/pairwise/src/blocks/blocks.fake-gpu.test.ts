import { device, zeros, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { cdist, cdistBackward, kernels, runKernel, runKernelBackward } from '../index.js';

const hasNvrtc = nvrtcFound();

/** GPUs that accept launches and compute nothing: what travels where, and what is kept. */
describe.skipIf(!hasNvrtc)('blocks behind the fake driver (skipped only without NVRTC)', () => {
  let [first, second]: Device[] = [];

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 3, TOTAL_BYTES: 2 ** 28 });
    [first, second] = [device('cuda:0'), device('cuda:1')];
  });

  it('are computed on both devices, with tensors of either, and keep no memory', async () => {
    const devices = [first!, second!];
    const work = async (): Promise<void> => {
      const x = await zeros([5000, 2], { device: second });
      const y = { data: new Float32Array(6000), shape: [3000, 2] };
      const bandwidth = await zeros([1], { device: first });
      const out = new Float32Array(5000 * 3000).fill(1);
      const seen: number[] = [];
      const onProgress = ({ total }: { total: number }): number => seen.push(total);
      const given = await runKernel(kernels.gaussian, x, y, {
        bandwidth,
        devices,
        out,
        maxBytes: 2 ** 22,
        onProgress,
      });
      expect(given).toBe(out);
      expect(seen.length).toBe(seen[0]);
      expect(seen.length).toBeGreaterThan(8);
      const d = await cdist(x, y, { devices });
      expect(d.device).toBe(first);
      const host = await zeros([5000, 3000], { device: 'cpu' });
      expect(await cdist(x, y, { devices, out: host, maxBytes: 2 ** 24 })).toBe(host);
      for (const one of [x, bandwidth, d, host]) one.dispose();
      await second!.synchronize();
    };
    expect(await memoryKept(first!, work)).toEqual(NOTHING);
    expect(await memoryKept(second!, work)).toEqual(NOTHING);
  });

  it('of gradients are added up on both devices, and keep no memory', async () => {
    const devices = [first!, second!];
    const work = async (): Promise<void> => {
      const x = await zeros([5000, 40], { device: second });
      const y = { data: new Float32Array(120_000), shape: [3000, 40] };
      const gradient = { data: new Float32Array(5000 * 3000), shape: [5000, 3000] };
      const bandwidth = await zeros([1], { device: first });
      const out = { a: new Float32Array(200_000).fill(1) };
      const seen: number[] = [];
      const onProgress = ({ total }: { total: number }): number => seen.push(total);
      const options = { devices, maxBytes: 2 ** 24, onProgress };
      const found = await runKernelBackward(kernels.gaussian, gradient, x, y, {
        ...options,
        bandwidth,
        out,
        wrt: ['a', 'b', 'bandwidth'],
      });
      expect(found.a).toBe(out.a);
      expect(found.b.device).toBe(first);
      expect(found.bandwidth.shape).toEqual([1]);
      expect(seen.length).toBe(seen[0]);
      expect(seen.length).toBeGreaterThan(8);
      const there = await zeros([5000, 3000], { device: first });
      const { b } = await cdistBackward(there, x, y, { devices, wrt: ['b'] });
      expect(b.shape).toEqual([3000, 40]);
      for (const one of [x, bandwidth, there, b, found.b, found.bandwidth]) one.dispose();
      await second!.synchronize();
    };
    expect(await memoryKept(first!, work)).toEqual(NOTHING);
    expect(await memoryKept(second!, work)).toEqual(NOTHING);
  });

  it('refuse inputs on a device that is not named', async () => {
    const x = await zeros([4, 2], { device: 'cuda:2' });
    await expect(cdist(x, x, { devices: [first!, second!] })).rejects.toThrow(
      /on cuda:2, and it is computed on cuda:0, cuda:1/,
    );
    x.dispose();
  });
});
