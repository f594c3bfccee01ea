import { beforeAll, describe, expect, test } from 'vitest';
import { fake, fakeCounts, fakeImage, useFakeDriver } from '../test/fake-device.mjs';
import { runScript } from '../test/run-script.mjs';
import { buildFakeDriver } from '../test/fake-driver/build.mjs';
import { cuda } from './cuda.js';
import type { CudaDevice } from './device.js';
import { OutOfMemoryError } from './errors.js';
import { loadAddon } from './native/load-addon.js';
import type { CudaStream } from './stream.js';

const MiB = 1 << 20;
let device: CudaDevice;
let stream: CudaStream;
beforeAll(async () => {
  await useFakeDriver({ TOTAL_BYTES: 100 * MiB });
  device = cuda.device(0);
  stream = device.defaultStream;
});

function outOfMemory(call: () => unknown): OutOfMemoryError {
  try {
    call();
  } catch (error) {
    if (error instanceof OutOfMemoryError) return error;
    throw error;
  }
  throw new Error('it succeeded');
}

describe('out of memory', () => {
  test('tells what was asked for, what is free and what lives; the process works on', async () => {
    const first = device.allocate(60 * MiB, stream);
    const error = outOfMemory(() => device.allocate(50 * MiB, stream));
    expect(error).toMatchObject({
      code: 'OUT_OF_MEMORY',
      status: 2,
      name: 'CUDA_ERROR_OUT_OF_MEMORY',
      requested: 50 * MiB,
      free: 40 * MiB,
      live: 60 * MiB,
      device: 0,
    });
    expect(error.message).toContain(
      '50.0 MiB asked for, 40.0 MiB free, 60.0 MiB held by live buffers',
    );
    first.free();
    await stream.synchronize();
    const second = device.allocate(90 * MiB, stream);
    stream.memset(second, 0, 3, 90 * MiB);
    const out = new Uint8Array(10);
    await stream.copyToHost(out, second, 90 * MiB - 10);
    expect(out).toEqual(new Uint8Array(10).fill(3));
    second.free();
    expect(device.liveBytes).toBe(0);
  });

  test('waits for frees behind work under way before giving up', () => {
    const first = device.allocate(80 * MiB, stream);
    fake('KERNEL_US', 50_000);
    const module = device.loadModule(fakeImage('k()'));
    module
      .function('k')
      .launch(
        { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 },
        stream,
        new Uint8Array(0),
        new Uint32Array(0),
      );
    fake('KERNEL_US', undefined);
    first.free();
    const second = device.allocate(70 * MiB, stream);
    expect(device.liveBytes).toBe(70 * MiB);
    second.free();
    module.dispose();
  });

  test('counts beyond 2^32 and 2^31 elements without wrapping', () => {
    expect(outOfMemory(() => device.allocate(2 ** 33 + 5, stream)).requested).toBe(2 ** 33 + 5);
    expect(() => device.allocate(2 ** 60, stream)).toThrow('whole number from 0 to 2^53');
    expect(() => device.allocate(-1, stream)).toThrow('whole number');
    expect(() => device.allocate(1.5, stream)).toThrow('whole number');
    expect(() => device.allocate(NaN, stream)).toThrow('whole number');
  });

  test('of page-locked memory too', () => {
    fake('PINNED_BYTES', MiB);
    expect(outOfMemory(() => device.allocatePinned(2 * MiB)).requested).toBe(2 * MiB);
    fake('PINNED_BYTES', undefined);
    device.allocatePinned(2 * MiB).dispose();
  });
});

describe('the pool', () => {
  test('keeps what was freed, and trimTo gives it back', async () => {
    const buffer = device.allocate(30 * MiB, stream);
    expect(device.pool.usedBytes).toBe(30 * MiB);
    buffer.free();
    await stream.synchronize();
    expect(device.pool.usedBytes).toBe(0);
    expect(device.pool.reservedBytes).toBeGreaterThanOrEqual(30 * MiB);
    device.pool.trimTo(10 * MiB);
    expect(device.pool.reservedBytes).toBe(10 * MiB);
    device.pool.trimTo(0);
    expect(device.memoryInfo().freeBytes).toBe(100 * MiB);
  });

  test('keeps everything by default; the threshold can be set and read', () => {
    expect(device.pool.releaseThresholdBytes).toBe(Infinity);
    device.pool.releaseThresholdBytes = 5 * MiB;
    expect(device.pool.releaseThresholdBytes).toBe(5 * MiB);
    device.pool.releaseThresholdBytes = Infinity;
    expect(device.pool.releaseThresholdBytes).toBe(Infinity);
  });

  test('is trimmed before an allocation is given up', () => {
    const { addon } = loadAddon();
    const before = fakeCounts(addon).trims;
    outOfMemory(() => device.allocate(200 * MiB, stream));
    expect(fakeCounts(addon).trims).toBe(before + 2);
  });

  test('an empty buffer has address 0 and can be used', async () => {
    const empty = device.allocate(0, stream);
    expect(empty.address).toBe(0n);
    stream.memset(empty, 0, 1, 0);
    await stream.copyToDevice(empty, 0, new Uint8Array(0));
    await stream.copyToHost(new Uint8Array(0), empty);
    expect(() => stream.memset(empty, 0, 1, 1)).toThrow('do not lie');
    empty.free();
  });
});

describe('a device without pools', () => {
  test('allocates and frees plainly, off the JavaScript thread', async () => {
    const { stdout, code } = await runScript(
      `const device = mercer.cuda.device(0);
       const stream = device.defaultStream;
       for (let i = 0; i < 20; i++) device.allocate(10, stream).free();
       const buffer = device.allocate(1000, stream);
       stream.memset(buffer, 0, 8, 1000);
       const out = new Uint8Array(1000);
       await stream.copyToHost(out, buffer);
       buffer.free();
       await new Promise((resolve) => setTimeout(resolve, 200));
       console.log(JSON.stringify([out[999], device.liveBytes, device.pool.reservedBytes, device.memoryInfo().freeBytes]));`,
      {
        MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(),
        MERCER_FAKE_POOLS: '0',
        MERCER_FAKE_TOTAL_BYTES: '4096',
      },
    );
    expect({ code, out: JSON.parse(stdout) as unknown }).toEqual({ code: 0, out: [8, 0, 0, 4096] });
  });
});

describe('memory', () => {
  test('is held by copies under way on other streams and by graphs', async () => {
    const buffer = device.allocate(8 * MiB, stream);
    stream.memset(buffer, 0, 1, 8 * MiB);
    expect(buffer.isHeld).toBe(false);
    const recording = device.createStream();
    const arrived = recording.copyToHost(new Uint8Array(8 * MiB), buffer);
    expect(buffer.isHeld).toBe(true);
    await arrived;
    expect(buffer.isHeld).toBe(false);
    recording.beginCapture();
    recording.memset(buffer, 0, 2, MiB);
    recording.keepForCapture(buffer);
    const graph = recording.endCapture();
    expect(buffer.isHeld).toBe(true);
    graph.dispose();
    expect(buffer.isHeld).toBe(false);
    buffer.free();
    expect(() => buffer.isHeld).toThrow('was disposed');
    recording.dispose();
  });
});
