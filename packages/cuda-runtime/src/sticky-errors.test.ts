import { beforeAll, describe, expect, test } from 'vitest';
import { fake, fakeImage, useFakeDriver } from '../test/fake-device.mjs';
import { cuda } from './cuda.js';
import { CudaError } from './errors.js';

beforeAll(() => useFakeDriver({ DEVICES: 2 }));

const one = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 } as const;
const none = [new Uint8Array(0), new Uint32Array(0)] as const;

describe('an error that breaks the context', () => {
  test('rejects everything pending with the first cause, marks the device dead, spares other devices', async () => {
    const [broken, other] = [cuda.device(0), cuda.device(1)];
    const [stream, second] = [broken.defaultStream, broken.createStream()];
    const kernel = broken.loadModule(fakeImage('k()')).function('k');
    const buffer = broken.allocate(9 << 20, stream);
    const event = broken.createEvent();
    // all is there before the kernels are: nothing below takes as long as two of them
    const pinned = broken.allocatePinned(64);
    const [read, written] = [new Uint8Array(9 << 20).fill(1), new Uint8Array(9 << 20).fill(1)];
    fake('FAULT_AT', 3);
    fake('KERNEL_US', 200_000);
    for (let i = 0; i < 5; i++) kernel.launch(one, stream, ...none);
    kernel.launch(one, second, ...none);
    stream.record(event);
    const pending = [
      stream.whenDone(),
      stream.copyToHost(new Uint8Array(100), buffer, 0, 100),
      stream.copyToHost(read, buffer),
      stream.copyToDevice(buffer, 0, written),
      stream.copyToHost(pinned, buffer, 0, 64),
      stream.whenInFlightBelow(1),
      event.synchronize(),
      broken.synchronize(),
    ];
    const outcomes = await Promise.allSettled(pending);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
          status: 700,
          name: 'CUDA_ERROR_ILLEGAL_ADDRESS',
          device: 0,
        },
      });
    }
    expect(broken.dead).toBeInstanceOf(CudaError);
    expect(broken.dead).toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS', status: 700 });
    expect(broken.dead?.message).toMatch(
      /cuda:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS \(700\).*restart it/,
    );

    // Every later call tells the same first cause; nothing hangs.
    const first = broken.dead?.call;
    for (const call of [
      () => broken.allocate(8, stream),
      () => kernel.launch(one, stream, ...none),
      () => stream.memset(buffer, 0, 0, 8),
      () => broken.createStream(),
      () => broken.memoryInfo(),
      () => stream.synchronizeSync(),
    ]) {
      expect(call).toThrow(
        expect.objectContaining({
          code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
          status: 700,
          call: first,
        }) as Error,
      );
    }
    await expect(stream.whenDone()).rejects.toMatchObject({
      code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      status: 700,
    });
    await expect(second.whenDone()).rejects.toMatchObject({
      code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      status: 700,
    });

    // Disposing is still quiet, and bookkeeping goes on.
    buffer.free();
    stream.dispose();
    second.dispose();
    event.dispose();
    expect(broken.liveBytes).toBe(0);

    fake('FAULT_AT', 0);
    fake('KERNEL_US', 0);
    expect(other.dead).toBeUndefined();
    const fine = other.allocate(16, other.defaultStream);
    other.defaultStream.memset(fine, 0, 1, 16);
    await other.synchronize();
  });
});
