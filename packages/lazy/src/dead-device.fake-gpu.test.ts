import { device, full, zeros } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';
import { fake, useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { lazyI, lazyJ } from './index.js';

describe.skipIf(!nvrtcFound())('a device that dies (skipped only without NVRTC)', () => {
  it('ends the call on all devices, with nothing left on them and out as it was', async () => {
    await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 28 });
    const all = [device('cuda:0'), device('cuda:1')];
    const x = await zeros([20_000, 2], { device: 'cpu' });
    const out = await full([20_000, 1], 7, { device: 'cpu' });
    using seven = await full([20_000, 1], 7, { device: 'cpu' });
    const of = lazyI(x).sqdist(lazyJ(x)).reduction('Sum', 'j');
    let calls = 0;
    const again = async (): Promise<void> => {
      for (; calls < 100; calls++) {
        await of.call([], { devices: all, out });
        await out.copyFrom(seven);
      }
    };
    // The fault comes with the launch of this number in the process, on whichever device that is.
    fake('FAULT_AT', 60);
    await expect(again()).rejects.toThrow();
    expect(calls).toBeGreaterThan(1);
    expect(calls).toBeLessThan(60);
    expect(new Set(await out.toTypedArray())).toEqual(new Set([7]));
    // The dead one cannot be asked. What the other one had begun gives its memory back when it ends.
    const kept = (): number[] =>
      all.flatMap((one) => {
        try {
          return [undisposedBytes(one)];
        } catch {
          return [];
        }
      });
    await expect.poll(kept, { timeout: 10_000 }).toEqual([0]);
  });
});
