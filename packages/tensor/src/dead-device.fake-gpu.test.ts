import { describe, expect, it } from 'vitest';
import { fake, useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { undisposedBytes } from '../test/memory-kept.mjs';
import { device, zeros } from './index.js';

describe.skipIf(!nvrtcFound())('a device that died (skipped only without NVRTC)', () => {
  it('keeps no memory of another one, and its own tensors are disposed without an error', async () => {
    await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 28 });
    const [here, dying] = [device('cuda:0'), device('cuda:1')];
    const read = await zeros([1000], { device: here });
    const copy = await read.to(dying);
    // Each was written on one device and read on the other.
    const back = await copy.to(here);
    await back.ready();
    // Of several streams, so that its memory is freed behind all of them.
    const [first, second] = [dying.createStream(), dying.createStream()];
    const used = await zeros([1000], { device: dying, stream: first });
    const sum = await used.add(1, { stream: second });
    await sum.ready();
    // The number of a launch in this process.
    fake('FAULT_AT', 30);
    const untilItDies = async (): Promise<void> => {
      for (let launch = 0; launch < 100; launch++) {
        using one = await sum.add(launch);
        await one.ready();
      }
    };
    await expect(untilItDies()).rejects.toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS' });
    for (const one of [read, copy, back, used, sum]) one.dispose();
    expect(undisposedBytes(here)).toBe(0);
  });
});
