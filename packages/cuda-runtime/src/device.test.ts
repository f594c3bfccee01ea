import { beforeAll, describe, expect, test } from 'vitest';
import { useFakeDriver } from '../test/fake-device.mjs';
import { cuda } from './cuda.js';
import { CudaError } from './errors.js';

beforeAll(() => useFakeDriver({ DEVICES: 3, TOTAL_BYTES: 1 << 28 }));

function codeOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error instanceof CudaError ? error.code : error;
  }
  return 'no error';
}

describe('enumeration', () => {
  test('counts devices and gives the same object every time', () => {
    expect(cuda.deviceCount()).toBe(3);
    expect(cuda.device(1)).toBe(cuda.device(1));
    expect(cuda.device()).toBe(cuda.device(0));
    expect(cuda.device(2).index).toBe(2);
  });

  test('a device tells its name, uuid, capability, architecture and memory', () => {
    const device = cuda.device(2);
    expect(device.name).toBe('Fake GPU 2');
    expect(device.uuid).toBe('GPU-02122232-4252-6272-8292-a2b2c2d2e2f2');
    expect(device.computeCapability).toEqual([9, 0]);
    expect(device.arch).toBe('sm_90a');
    expect(device.memoryInfo()).toEqual({ freeBytes: 1 << 28, totalBytes: 1 << 28 });
    expect(device.attribute('multiprocessorCount')).toBe(132);
    expect(device.attribute('maxSharedMemoryPerBlockOptin')).toBe(232448);
    expect(device.streamPriorityRange).toEqual([0, -5]);
    expect(device.dead).toBeUndefined();
  });

  test.each([-1, 3, 99])('device %i does not exist', (index) => {
    expect(() => cuda.device(index)).toThrow(`there is no CUDA device ${index} (found 3)`);
    expect(codeOf(() => cuda.device(index))).toBe('NO_SUCH_DEVICE');
  });
});

describe('a disposed device', () => {
  test('disables everything made from it; a new one works', async () => {
    const device = cuda.device(1);
    const stream = device.createStream();
    const buffer = device.allocate(64, stream);
    const event = device.createEvent();
    const pinned = device.allocatePinned(64);
    device.dispose();
    const calls = [
      () => device.createStream(),
      () => device.memoryInfo(),
      () => device.liveBytes,
      () => device.allocate(8, stream),
      () => stream.memset(buffer, 0, 0, 8),
      () => stream.query(),
      () => stream.record(event),
      () => event.query(),
      () => device.allocatePinned(8),
      () => device.loadModule(new Uint8Array(4)),
    ];
    for (const call of calls) expect(codeOf(call)).toBe('DISPOSED');
    await expect(stream.whenDone()).rejects.toMatchObject({ code: 'DISPOSED' });
    await expect(stream.copyToDevice(buffer, 0, pinned)).rejects.toMatchObject({
      code: 'DISPOSED',
    });
    const again = cuda.device(1);
    expect(again).not.toBe(device);
    const fresh = again.allocate(16, again.defaultStream);
    again.defaultStream.memset(fresh, 0, 7, 16);
    const out = new Uint8Array(16);
    await again.defaultStream.copyToHost(out, fresh);
    expect(out).toEqual(new Uint8Array(16).fill(7));
    device.dispose();
    expect(cuda.device(1)).toBe(again);
    for (const owned of [buffer, pinned, event, stream, fresh]) owned.dispose();
  });
});

describe('devices do not mix', () => {
  const [a, b] = [0, 1] as const;
  test('a launch, an event, a free on a stream of another device are errors', () => {
    const other = cuda.device(b);
    const event = cuda.device(a).createEvent();
    expect(codeOf(() => other.defaultStream.record(event))).toBe('DEVICE_MISMATCH');
    const buffer = cuda.device(a).allocate(8, cuda.device(a).defaultStream);
    expect(codeOf(() => buffer.free(other.defaultStream))).toBe('DEVICE_MISMATCH');
    expect(codeOf(() => buffer.free())).toBe('no error');
  });

  test('a stream may wait for an event of another device', async () => {
    const event = cuda.device(a).createEvent();
    cuda.device(a).defaultStream.record(event);
    cuda.device(b).defaultStream.wait(event);
    await cuda.device(b).synchronize();
    expect(event.query()).toBe(true);
  });

  test('peer access may be enabled twice and copies between devices work', async () => {
    const [first, second] = [cuda.device(a), cuda.device(b)];
    expect(first.canAccessPeer(second)).toBe(true);
    first.enablePeerAccess(second);
    first.enablePeerAccess(second);
    const from = first.allocate(1000, first.defaultStream);
    first.defaultStream.memset(from, 0, 42, 1000);
    const to = second.allocate(1000, second.defaultStream);
    first.defaultStream.copyDeviceToDevice(to, 10, from, 0, 500);
    await first.synchronize();
    const out = new Uint8Array(500);
    await second.defaultStream.copyToHost(out, to, 10, 500);
    expect(out.every((byte) => byte === 42)).toBe(true);
    from.dispose();
    to.dispose();
  });
});
