import { describe, expect, test } from 'vitest';
import { cuda } from './cuda.js';
import { OutOfMemoryError } from './errors.js';
import { nvrtc } from './nvrtc.js';

const indices = cuda.isAvailable() ? Array.from({ length: cuda.deviceCount() }, (_, i) => i) : [];

if (indices.length === 0) {
  test.skip('GPU tests: no CUDA device', () => undefined);
}

describe.each(indices)('cuda:%i', (index) => {
  const device = cuda.device(index);
  const stream = device.defaultStream;

  test('tells plausible facts', () => {
    expect(device.name.length).toBeGreaterThan(3);
    expect(device.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(device.arch).toMatch(/^sm_\d+a?$/);
    expect(device.attribute('warpSize')).toBe(32);
    expect(device.attribute('multiprocessorCount')).toBeGreaterThan(0);
    const { freeBytes, totalBytes } = device.memoryInfo();
    expect(freeBytes).toBeGreaterThan(0);
    expect(totalBytes).toBeGreaterThanOrEqual(freeBytes);
    const [least, greatest] = device.streamPriorityRange;
    expect(least).toBeGreaterThanOrEqual(greatest);
    expect(nvrtc.isAvailable()).toBe(true);
  });

  const sizes = [1, 100, 1 << 16, (1 << 16) + 1, 4 << 20, (4 << 20) + 1, 33 << 20];
  test.each(sizes)('%i bytes go there and come back, pageable, sync and pinned', async (bytes) => {
    const source = new Uint8Array(bytes);
    for (let i = 0; i < bytes; i++) source[i] = (i * 31 + (i >> 8)) & 255;
    const buffer = device.allocate(bytes, stream);
    await stream.copyToDevice(buffer, 0, source);
    const out = new Uint8Array(bytes);
    await stream.copyToHost(out, buffer);
    expect(Buffer.compare(out, source)).toBe(0);

    stream.memset(buffer, 0, 0, bytes);
    stream.copyToDeviceSync(buffer, 0, source);
    out.fill(0);
    stream.copyToHostSync(out, buffer);
    expect(Buffer.compare(out, source)).toBe(0);

    const pinned = device.allocatePinned(bytes);
    new Uint8Array(pinned.arrayBuffer).set(source);
    stream.memset(buffer, 0, 0, bytes);
    await stream.copyToDevice(buffer, 0, pinned);
    new Uint8Array(pinned.arrayBuffer).fill(0);
    await stream.copyToHost(pinned, buffer);
    expect(Buffer.compare(new Uint8Array(pinned.arrayBuffer), source)).toBe(0);
    pinned.dispose();
    buffer.free();
  });

  test('memset of each width and copies inside the device', async () => {
    const [a, b] = [device.allocate(64, stream), device.allocate(64, stream)];
    stream.memset(a, 0, 0xab, 64);
    stream.memset(a, 16, 0x1234, 16, 2);
    stream.memset(a, 32, 0xdeadbeef, 16, 4);
    stream.copyDeviceToDevice(b, 8, a, 8, 56);
    const out = new Uint8Array(56);
    await stream.copyToHost(out, b, 8, 56);
    expect([...out.slice(0, 8)]).toEqual(new Array(8).fill(0xab));
    expect([...out.slice(8, 12)]).toEqual([0x34, 0x12, 0x34, 0x12]);
    expect([...out.slice(24, 28)]).toEqual([0xef, 0xbe, 0xad, 0xde]);
    a.free();
    b.free();
  });

  test('events measure time', async () => {
    const [start, end] = [
      device.createEvent({ timing: true }),
      device.createEvent({ timing: true }),
    ];
    const buffer = device.allocate(1 << 28, stream);
    stream.record(start);
    for (let i = 0; i < 10; i++) stream.memset(buffer, 0, i, 1 << 28);
    stream.record(end);
    await end.synchronize();
    const ms = end.elapsedMs(start);
    expect(ms).toBeGreaterThan(0.01);
    expect(ms).toBeLessThan(10_000);
    buffer.free();
  });

  test('out of memory is an error with numbers, and the process works on', async () => {
    const { totalBytes } = device.memoryInfo();
    expect(() => device.allocate(totalBytes * 4, stream)).toThrow(OutOfMemoryError);
    const buffer = device.allocate(1 << 20, stream);
    stream.memset(buffer, 0, 1, 1 << 20);
    await stream.whenDone();
    buffer.free();
    expect(device.dead).toBeUndefined();
  });

  test('the pool keeps freed memory until it is trimmed', async () => {
    const buffer = device.allocate(256 << 20, stream);
    expect(device.pool.usedBytes).toBeGreaterThanOrEqual(256 << 20);
    buffer.free();
    await stream.whenDone();
    expect(device.pool.usedBytes).toBe(0);
    expect(device.pool.reservedBytes).toBeGreaterThanOrEqual(256 << 20);
    device.pool.trimTo(0);
    expect(device.pool.reservedBytes).toBe(0);
  });

  test('10,000 allocations, copies and frees leave the free memory as it was', async () => {
    const host = new Uint8Array(10_000);
    const round = async (rounds: number): Promise<number> => {
      for (let i = 0; i < rounds; i++) {
        const buffer = device.allocate(1 << 20, stream);
        await stream.copyToDevice(buffer, 0, host);
        buffer.free();
        if (i % 100 === 0) await stream.whenDone();
      }
      await stream.whenDone();
      return device.memoryInfo().freeBytes;
    };
    const before = await round(1000);
    expect(before - (await round(10_000))).toBeLessThan(64 << 20);
    expect(device.liveBytes).toBe(0);
  });

  // Registered only where there are two devices: on one there is nothing to test.
  for (const other of indices.filter((candidate) => candidate !== index)) {
    test(`copies to and from cuda:${other}, staged and direct`, async () => {
      const peer = cuda.device(other);
      for (const direct of [false, true]) {
        if (direct && !device.canAccessPeer(peer)) continue;
        if (direct) device.enablePeerAccess(peer);
        const bytes = 10 << 20;
        const [here, there] = [
          device.allocate(bytes, stream),
          peer.allocate(bytes, peer.defaultStream),
        ];
        await peer.defaultStream.whenDone();
        stream.memset(here, 0, 0x5a, bytes);
        stream.copyDeviceToDevice(there, 0, here, 0, bytes);
        await stream.whenDone();
        const out = new Uint8Array(bytes);
        await peer.defaultStream.copyToHost(out, there);
        expect(out.every((byte) => byte === 0x5a)).toBe(true);
        here.free();
        there.free();
      }
    });
  }
});
