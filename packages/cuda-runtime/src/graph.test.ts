import { beforeAll, describe, expect, test } from 'vitest';
import { fake, fakeCounts, fakeImage, settledCounts, useFakeDriver } from '../test/fake-device.mjs';
import { cuda } from './cuda.js';
import type { DeviceBuffer } from './device-buffer.js';
import type { CudaDevice } from './device.js';
import type { CudaModule } from './module.js';
import { loadAddon } from './native/load-addon.js';
import type { CudaStream } from './stream.js';

let device: CudaDevice;
let stream: CudaStream;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 2 });
  device = cuda.device(0);
  stream = device.createStream();
});

const one = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 } as const;

function increment(module: CudaModule, buffer: DeviceBuffer): void {
  const params = new DataView(new ArrayBuffer(16));
  params.setBigUint64(0, buffer.address, true);
  params.setBigInt64(8, BigInt(buffer.bytes), true);
  module
    .function('increment')
    .launch(one, stream, new Uint8Array(params.buffer), Uint32Array.of(0, 8));
}

describe('capture and replay', () => {
  test('records instead of running, then runs as often as launched', async () => {
    const module = device.loadModule(fakeImage('increment(8,8)'));
    const buffer = device.allocate(100, stream);
    stream.memset(buffer, 0, 10, 100);
    await stream.whenDone();
    expect(stream.capturing).toBe(false);
    stream.beginCapture();
    expect(stream.capturing).toBe(true);
    increment(module, buffer);
    increment(module, buffer);
    const graph = stream.endCapture();
    expect(graph.nodeCount).toBe(2);
    const out = new Uint8Array(100);
    await stream.copyToHost(out, buffer);
    expect(out[0]).toBe(10);
    const exec = graph.instantiate();
    graph.dispose();
    exec.upload(stream);
    for (let i = 0; i < 5; i++) exec.launch(stream);
    await stream.copyToHost(out, buffer);
    expect(out.every((byte) => byte === 20)).toBe(true);
    for (const owned of [exec, buffer, module]) owned.dispose();
  });

  test('a graph keeps the code, buffers and pinned memory it was captured with', async () => {
    const { addon } = loadAddon();
    const before = await settledCounts(addon);
    const module = device.loadModule(fakeImage('increment(8,8)'));
    const [buffer, target] = [device.allocate(64, stream), device.allocate(64, stream)];
    const pinned = device.allocatePinned(64);
    new Uint8Array(pinned.arrayBuffer).fill(5);
    stream.beginCapture();
    const copied = stream.copyToDevice(buffer, 0, pinned);
    increment(module, buffer);
    stream.copyDeviceToDevice(target, 0, buffer, 0, 64);
    const graph = stream.endCapture();
    await copied;
    const exec = graph.instantiate();
    for (const owned of [graph, module, buffer, pinned]) owned.dispose();
    exec.launch(stream);
    const out = new Uint8Array(64);
    await stream.copyToHost(out, target);
    expect(out.every((byte) => byte === 6)).toBe(true);
    exec.dispose();
    target.dispose();
    await expect
      .poll(() => fakeCounts(addon))
      .toMatchObject({
        buffers: before.buffers,
        modules: before.modules,
        execs: before.execs,
        graphs: before.graphs,
      });
  });

  test('it keeps what streams were captured with that waited for captured work, and these count no launches of it', async () => {
    const { addon } = loadAddon();
    const before = await settledCounts(addon);
    using other = device.createStream();
    using event = device.createEvent();
    const module = device.loadModule(fakeImage('none()'));
    const kernel = module.function('none');
    stream.beginCapture();
    stream.record(event);
    other.wait(event);
    for (let n = 0; n < 40; n++) kernel.launch(one, other, new Uint8Array(0), new Uint32Array(0));
    expect(other.inFlight).toBe(0);
    other.record(event);
    stream.wait(event);
    const graph = stream.endCapture();
    module.dispose();
    expect((await settledCounts(addon)).modules).toBe(before.modules + 1);
    graph.dispose();
    await expect.poll(() => fakeCounts(addon).modules).toBe(before.modules);
  });

  test('an executable graph disposed while it runs finishes first', async () => {
    const { addon } = loadAddon();
    const { execs: before } = await settledCounts(addon);
    const module = device.loadModule(fakeImage('increment(8,8)'));
    const buffer = device.allocate(8, stream);
    stream.memset(buffer, 0, 0, 8);
    fake('KERNEL_US', 40_000);
    stream.beginCapture();
    increment(module, buffer);
    const exec = stream.endCapture().instantiate();
    fake('KERNEL_US', 0);
    exec.launch(stream);
    exec.dispose();
    expect(fakeCounts(addon).execs).toBe(before + 1);
    const out = new Uint8Array(8);
    await stream.copyToHost(out, buffer);
    expect(out[0]).toBe(1);
    await expect.poll(() => fakeCounts(addon).execs).toBe(before);
    module.dispose();
    buffer.dispose();
  });
});

describe('what captured work follows', () => {
  // the fake driver's graphs run what was captured last first, as far as their edges allow
  const captureFills = (isBeside: boolean): Promise<Uint8Array> => {
    const [buffer, other] = [device.allocate(8, stream), device.allocate(8, stream)];
    stream.beginCapture();
    const start = stream.capturePoint();
    expect(stream.capturePoint()).toBe(start);
    stream.memset(buffer, 0, 1, 8);
    const first = stream.capturePoint();
    expect(first).not.toBe(start);
    if (isBeside) stream.followCapture([start]);
    stream.memset(buffer, 0, 2, 8);
    stream.followCapture(isBeside ? [first, stream.capturePoint()] : [stream.capturePoint()]);
    stream.copyDeviceToDevice(other, 0, buffer, 0, 8);
    using exec = stream.endCapture().instantiate();
    exec.launch(stream);
    const host = new Uint8Array(8);
    return stream.copyToHost(host, other).then(() => {
      buffer.dispose();
      other.dispose();
      return host;
    });
  };

  test('is what was captured before it, or what it is told to', async () => {
    expect(await captureFills(false)).toEqual(new Uint8Array(8).fill(2));
    expect(await captureFills(true)).toEqual(new Uint8Array(8).fill(1));
  });

  test('is refused where there is no capture, and of another one', () => {
    expect(() => stream.capturePoint()).toThrow('does not capture');
    expect(() => stream.followCapture([])).toThrow('does not capture');
    stream.beginCapture();
    expect(() => stream.followCapture([7])).toThrow('a capture has no point 7');
    stream.endCapture().dispose();
  });

  test('has to be followed by the end, which the driver sees to', () => {
    const own = device.createStream();
    const buffer = device.allocate(8, stream);
    own.beginCapture();
    const start = own.capturePoint();
    own.memset(buffer, 0, 1, 8);
    own.followCapture([start]);
    expect(() => own.endCapture()).toThrow('CUDA_ERROR_STREAM_CAPTURE_UNJOINED');
    own.dispose();
    buffer.dispose();
  });
});

describe('a kernel of a graph', () => {
  test('gets other arguments in launches from now on, not in those under way', async () => {
    const module = device.loadModule(fakeImage('increment(8,8)'));
    const increments = module.function('increment');
    const buffers = [0, 1, 2].map(() => device.allocate(64, stream));
    for (const one of buffers) stream.memset(one, 0, 0, 64);
    const [first, second, third] = buffers as [DeviceBuffer, DeviceBuffer, DeviceBuffer];
    stream.beginCapture();
    increment(module, first);
    const point = stream.capturePoint();
    increment(module, second);
    const end = stream.capturePoint();
    const exec = stream.endCapture().instantiate();
    const set = (at: number, to: DeviceBuffer): void => {
      const params = new DataView(new ArrayBuffer(16));
      params.setBigUint64(0, to.address, true);
      params.setBigInt64(8, BigInt(to.bytes), true);
      increments.enqueueIn(one, exec, at, new Uint8Array(params.buffer), Uint32Array.of(0, 8));
    };
    exec.launch(stream);
    set(point, third);
    exec.launch(stream);
    exec.launch(stream);
    const firstBytes = await Promise.all(
      buffers.map(async (one) => {
        const host = new Uint8Array(64);
        await stream.copyToHost(host, one);
        return host[0];
      }),
    );
    expect(firstBytes).toEqual([1, 3, 2]);
    expect(() => set(end + 1, third)).toThrow('is not behind one kernel');
    for (const owned of [exec, module, ...buffers]) owned.dispose();
  });
});

describe('what a capture cannot hold', () => {
  test('is refused by name, and the capture goes on', async () => {
    const buffer = device.allocate(8, stream);
    const host = new Uint8Array(8);
    stream.beginCapture();
    const refused = { code: 'CAPTURING' };
    expect(() => stream.beginCapture()).toThrow(expect.objectContaining(refused) as Error);
    expect(() => device.allocate(8, stream)).toThrow(expect.objectContaining(refused) as Error);
    expect(() => stream.query()).toThrow(expect.objectContaining(refused) as Error);
    expect(() => stream.synchronizeSync()).toThrow(expect.objectContaining(refused) as Error);
    await expect(stream.whenDone()).rejects.toMatchObject(refused);
    await expect(stream.copyToDevice(buffer, 0, host)).rejects.toMatchObject(refused);
    await expect(stream.copyToHost(host, buffer)).rejects.toMatchObject(refused);
    stream.memset(buffer, 0, 3, 8);
    const exec = stream.endCapture().instantiate();
    exec.launch(stream);
    await stream.copyToHost(host, buffer);
    expect(host[0]).toBe(3);
    expect(() => stream.endCapture()).toThrow('does not capture');
    buffer.dispose();
  });

  test('memory freed during a capture is freed after it, once', async () => {
    const { addon } = loadAddon();
    const buffer = device.allocate(8, stream);
    const { buffers: before } = await settledCounts(addon);
    stream.beginCapture();
    buffer.free();
    expect(fakeCounts(addon).buffers).toBe(before);
    const graph = stream.endCapture();
    expect(graph.nodeCount).toBe(0);
    await stream.whenDone();
    expect(fakeCounts(addon).buffers).toBe(before - 1);
    graph.dispose();
  });

  test('a stream disposed during its capture leaves nothing behind', async () => {
    const { addon } = loadAddon();
    const before = await settledCounts(addon);
    const own = device.createStream();
    own.beginCapture();
    own.dispose();
    await expect
      .poll(() => fakeCounts(addon))
      .toMatchObject({ streams: before.streams, graphs: before.graphs });
  });

  test('a graph of another device is refused', () => {
    stream.beginCapture();
    const exec = stream.endCapture().instantiate();
    expect(() => exec.launch(cuda.device(1).defaultStream)).toThrow('was captured on cuda:0');
    exec.dispose();
  });
});
