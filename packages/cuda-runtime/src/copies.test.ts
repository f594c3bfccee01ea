import { beforeAll, describe, expect, test } from 'vitest';
import { fake, fakeCounts, fakeImage, useFakeDriver } from '../test/fake-device.mjs';
import { cuda } from './cuda.js';
import type { CudaDevice } from './device.js';
import { loadAddon } from './native/load-addon.js';
import type { CudaStream } from './stream.js';

let device: CudaDevice;
let stream: CudaStream;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1 });
  device = cuda.device(0);
  stream = device.defaultStream;
});

const KiB = 1024;
const MiB = 1024 * KiB;
/** Each route, its limits and one more byte. */
const sizes = [0, 1, 7, 64 * KiB, 64 * KiB + 1, 4 * MiB, 4 * MiB + 1, 9 * MiB + 13];
const pattern = (bytes: number): Uint8Array => {
  const data = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) data[i] = (i * 31 + (i >> 8)) & 255;
  return data;
};
const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Adds 1 to every byte, `delayUs` after its turn has come. */
function increment(address: bigint, bytes: number, delayUs = 0): void {
  fake('KERNEL_US', delayUs);
  const params = new DataView(new ArrayBuffer(16));
  params.setBigUint64(0, address, true);
  params.setBigInt64(8, BigInt(bytes), true);
  device
    .loadModule(fakeImage('increment(8,8)'))
    .function('increment')
    .launch(
      { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 },
      stream,
      new Uint8Array(params.buffer),
      Uint32Array.of(0, 8),
    );
  fake('KERNEL_US', 0);
}

describe.each(sizes)('%i bytes', (bytes) => {
  test('go there and come back', async () => {
    const buffer = device.allocate(bytes, stream);
    const source = pattern(bytes);
    await stream.copyToDevice(buffer, 0, source);
    const out = new Uint8Array(bytes);
    await stream.copyToHost(out, buffer);
    expect(same(out, source)).toBe(true);
    buffer.free();
  });

  test('keep stream order without being awaited: copy, kernel, copy, kernel, copy', async () => {
    const buffer = device.allocate(bytes, stream);
    const source = pattern(bytes);
    const [before, after] = [new Uint8Array(bytes), new Uint8Array(bytes)];
    increment(buffer.address, 0, 20_000);
    const pending = [stream.copyToDevice(buffer, 0, source)];
    increment(buffer.address, bytes);
    pending.push(stream.copyToHost(before, buffer));
    increment(buffer.address, bytes);
    pending.push(stream.copyToHost(after, buffer));
    buffer.free();
    await Promise.all(pending);
    expect(before.every((byte, i) => byte === ((source[i]! + 1) & 255))).toBe(true);
    expect(after.every((byte, i) => byte === ((source[i]! + 2) & 255))).toBe(true);
  });

  test('sync copies wait for the bytes', () => {
    const buffer = device.allocate(bytes, stream);
    const source = pattern(bytes);
    stream.copyToDeviceSync(buffer, 0, source);
    const out = new Uint8Array(bytes);
    stream.copyToHostSync(out, buffer);
    expect(same(out, source)).toBe(true);
    buffer.free();
  });

  test('pinned memory goes there and comes back', async () => {
    const buffer = device.allocate(bytes, stream);
    const pinned = device.allocatePinned(bytes);
    new Uint8Array(pinned.arrayBuffer).set(pattern(bytes));
    await stream.copyToDevice(buffer, 0, pinned);
    new Uint8Array(pinned.arrayBuffer).fill(0);
    await stream.copyToHost(pinned, buffer);
    expect(same(new Uint8Array(pinned.arrayBuffer), pattern(bytes))).toBe(true);
    pinned.dispose();
    buffer.free();
  });
});

describe('small sources', () => {
  test('may change right after the call', async () => {
    const buffer = device.allocate(MiB, stream);
    increment(buffer.address, 0, 30_000);
    const source = pattern(MiB);
    const done = stream.copyToDevice(buffer, 0, source);
    source.fill(0);
    await done;
    const out = new Uint8Array(MiB);
    await stream.copyToHost(out, buffer);
    expect(same(out, pattern(MiB))).toBe(true);
    buffer.free();
  });
});

describe('offsets and views', () => {
  test('of both sides are honoured for every kind of memory', async () => {
    const buffer = device.allocate(100, stream);
    stream.memset(buffer, 0, 0, 100);
    const backing = pattern(64);
    await stream.copyToDevice(buffer, 10, new Float32Array(backing.buffer, 8, 4), 4, 12);
    await stream.copyToDevice(buffer, 40, new DataView(backing.buffer, 1, 5));
    await stream.copyToDevice(buffer, 60, backing.buffer, 60);
    const out = new Uint8Array(new SharedArrayBuffer(120));
    await stream.copyToHost(out, buffer, 0, 100, 20);
    expect([...out.slice(30, 42)]).toEqual([...backing.slice(12, 24)]);
    expect([...out.slice(60, 65)]).toEqual([...backing.slice(1, 6)]);
    expect([...out.slice(80, 84)]).toEqual([...backing.slice(60)]);
    expect([...out.slice(0, 30)].every((byte) => byte === 0)).toBe(true);
    buffer.free();
  });

  test('outside either side are refused, and nothing is copied', async () => {
    const buffer = device.allocate(16, stream);
    const host = new Uint8Array(16);
    const range = { code: 'OUT_OF_RANGE' };
    await expect(stream.copyToDevice(buffer, 1, host)).rejects.toMatchObject(range);
    await expect(stream.copyToDevice(buffer, 0, host, 8, 9)).rejects.toMatchObject(range);
    await expect(stream.copyToHost(host, buffer, 0, 17)).rejects.toMatchObject(range);
    await expect(stream.copyToHost(host, buffer, 0, 16, 1)).rejects.toMatchObject(range);
    await expect(stream.copyToDevice(buffer, -1, host)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(stream.copyToDevice(buffer, 0.5, host)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(() => stream.memset(buffer, 8, 0, 9)).toThrow('do not lie in a buffer of 16 bytes');
    expect(() => stream.memset(buffer, 0, 0, 6, 4)).toThrow('not a whole number of elements');
    expect(() => stream.memset(buffer, 1, 0, 4, 4)).toThrow('not a multiple of the width');
    buffer.free();
  });
});

describe('memory that vanishes', () => {
  test('a destination detached while a copy is under way rejects', async () => {
    const buffer = device.allocate(1000, stream);
    stream.memset(buffer, 0, 1, 1000);
    const out = new Uint8Array(1000);
    const done = stream.copyToHost(out, buffer);
    structuredClone(out.buffer, { transfer: [out.buffer] });
    await expect(done).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
    buffer.free();
  });

  test('a resizable buffer is refused', async () => {
    const buffer = device.allocate(8, stream);
    const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer;
    const host = new Uint8Array(new Resizable(8, { maxByteLength: 16 }));
    await expect(stream.copyToHost(host, buffer)).rejects.toThrow('resizable');
    buffer.free();
  });

  test('a disposed pinned buffer detaches its views; the copy under way is still whole', async () => {
    const buffer = device.allocate(MiB, stream);
    const pinned = device.allocatePinned(MiB);
    const view = new Uint8Array(pinned.arrayBuffer);
    view.set(pattern(MiB));
    increment(buffer.address, 0, 30_000);
    const done = stream.copyToDevice(buffer, 0, pinned);
    pinned.dispose();
    pinned.dispose();
    expect(view.byteLength).toBe(0);
    await done;
    const out = new Uint8Array(MiB);
    await stream.copyToHost(out, buffer);
    expect(same(out, pattern(MiB))).toBe(true);
    await expect(stream.copyToDevice(buffer, 0, pinned)).rejects.toMatchObject({
      code: 'DISPOSED',
    });
    buffer.free();
  });
});

describe('memset', () => {
  test.each([
    [1, 0xab, [0xab, 0xab, 0xab, 0xab]],
    [2, 0x1234, [0x34, 0x12, 0x34, 0x12]],
    [4, 0xdeadbeef, [0xef, 0xbe, 0xad, 0xde]],
  ] as const)('writes elements of %i bytes', async (width, value, bytes) => {
    const buffer = device.allocate(64, stream);
    stream.memset(buffer, 0, 0, 64);
    stream.memset(buffer, 8, value, 16, width);
    const out = new Uint8Array(64);
    await stream.copyToHost(out, buffer);
    expect([...out.slice(8, 12)]).toEqual([...bytes]);
    expect([...out.slice(20, 24)]).toEqual([...bytes]);
    expect([...out.slice(0, 8), ...out.slice(24)].every((byte) => byte === 0)).toBe(true);
    buffer.free();
  });
});

describe('very large copies', () => {
  test('take larger steps when many are pending, keep their order and free their slots', async () => {
    const { addon } = loadAddon();
    const bytes = 48 * MiB + 3;
    const buffer = device.allocate(bytes, stream);
    const source = pattern(bytes);
    const calls = fakeCounts(addon).hostCalls;
    increment(buffer.address, 0, 8_000_000); // taking the bytes of all takes a while, seconds where page faults are slow
    const pending = Array.from({ length: 5 }, () => stream.copyToDevice(buffer, 0, source));
    increment(buffer.address, bytes);
    const out = new Uint8Array(bytes);
    pending.push(stream.copyToHost(out, buffer));
    await Promise.all(pending);
    expect(out.every((byte, i) => byte === ((source[i]! + 1) & 255))).toBe(true);
    // 13 steps of 4 MiB each would be 78 callbacks; the driver blocks at 56.
    expect(fakeCounts(addon).hostCalls - calls).toBeLessThan(50);
    await expect.poll(() => fakeCounts(addon).pinned).toBeLessThanOrEqual(8);
    buffer.free();
  });
});

describe('staging', () => {
  test('many copies at once keep a bounded number of slots afterwards', async () => {
    const { addon } = loadAddon();
    const buffer = device.allocate(MiB, stream);
    const before = fakeCounts(addon).pinned;
    increment(buffer.address, 0, 50_000);
    await Promise.all(
      Array.from({ length: 40 }, () => stream.copyToHost(new Uint8Array(MiB), buffer)),
    );
    await expect.poll(() => fakeCounts(addon).pinned).toBeLessThanOrEqual(Math.max(before, 8));
    buffer.free();
  });
});
