import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, test } from 'vitest';
import { fake, fakeCounts, fakeImage, settledCounts, useFakeDriver } from '../test/fake-device.mjs';
import { cuda } from './cuda.js';
import type { CudaDevice } from './device.js';
import { CudaError } from './errors.js';
import type { Addon } from './native/addon.js';
import type { BufferHandle, StreamHandle } from './native/handles.js';
import { loadAddon } from './native/load-addon.js';
import { native } from './native/owned.js';
import type { CudaStream } from './stream.js';

let device: CudaDevice;
let stream: CudaStream;
let addon: Addon;
const geometry = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 } as const;
const none = [new Uint8Array(0), new Uint32Array(0)] as const;

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 2 });
  device = cuda.device(0);
  stream = device.defaultStream;
  addon = loadAddon().addon;
});

function codeOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error instanceof CudaError ? error.code : error;
  }
  return 'no error';
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let i = 0; i < 4; i++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('use after dispose', () => {
  test('of every kind of object is a DISPOSED error, and disposing twice is not', () => {
    const other = device.createStream();
    const event = device.createEvent();
    const buffer = device.allocate(8, stream);
    const pinned = device.allocatePinned(8);
    const module = device.loadModule(fakeImage('k()'));
    const kernel = module.function('k');
    other.beginCapture();
    const graph = other.endCapture();
    const exec = graph.instantiate();
    for (const object of [other, event, buffer, pinned, module, graph, exec]) {
      object.dispose();
      object[Symbol.dispose]();
    }
    const calls = {
      stream: () => other.query(),
      capture: () => other.beginCapture(),
      handle: () => other.handle,
      event: () => event.query(),
      record: () => stream.record(event),
      buffer: () => stream.memset(buffer, 0, 0, 8),
      allocate: () => device.allocate(8, other),
      module: () => module.function('k'),
      launch: () => kernel.launch(geometry, stream, ...none),
      attributes: () => kernel.attributes,
      graph: () => graph.instantiate(),
      nodes: () => graph.nodeCount,
      exec: () => exec.launch(stream),
    };
    const codes = Object.entries(calls).map(([name, call]) => [name, codeOf(call)]);
    expect(codes).toEqual(Object.keys(calls).map((name) => [name, 'DISPOSED']));
  });

  test('says which kind of object', () => {
    const buffer = device.allocate(8, stream);
    buffer.dispose();
    expect(() => stream.memset(buffer, 0, 0, 8)).toThrow('the buffer was disposed');
  });
});

describe('parents stay alive', () => {
  test('a buffer keeps its stream, and frees on it after the stream was disposed', async () => {
    const before = await settledCounts(addon);
    const own = device.createStream();
    const buffer = device.allocate(100, own);
    own.dispose();
    stream.memset(buffer, 0, 5, 100);
    const out = new Uint8Array(100);
    await stream.copyToHost(out, buffer);
    expect(out[99]).toBe(5);
    buffer.dispose();
    await expect.poll(() => fakeCounts(addon).buffers).toBe(before.buffers);
    await expect.poll(() => fakeCounts(addon).streams).toBe(before.streams);
  });

  test('code stays loaded until the launches under way are done', async () => {
    const { modules: before } = await settledCounts(addon);
    fake('KERNEL_US', 200_000);
    const module = device.loadModule(fakeImage('k()'));
    module.function('k').launch(geometry, stream, ...none);
    fake('KERNEL_US', 0);
    const done = stream.whenDone();
    module.dispose();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(fakeCounts(addon).modules).toBe(before + 1);
    await done;
    await expect.poll(() => fakeCounts(addon).modules).toBe(before);
  });

  test('a copy under way keeps a buffer of another stream that was freed', async () => {
    const other = device.createStream();
    const buffer = device.allocate(6 << 20, other);
    await other.whenDone();
    fake('KERNEL_US', 30_000);
    const module = device.loadModule(fakeImage('k()'));
    module.function('k').launch(geometry, stream, ...none);
    fake('KERNEL_US', 0);
    stream.memset(buffer, 0, 9, 6 << 20);
    const out = new Uint8Array(6 << 20);
    const small = new Uint8Array(10);
    const done = [stream.copyToHost(out, buffer), stream.copyToHost(small, buffer)];
    buffer.free();
    expect(fakeCounts(addon).buffers).toBeGreaterThan(0);
    await Promise.all(done);
    expect(out.every((byte) => byte === 9)).toBe(true);
    expect(small[9]).toBe(9);
    expect(device.liveBytes).toBe(0);
    module.dispose();
    other.dispose();
  });

  test('a copy under way of the buffer’s own stream is ordered before its free', async () => {
    const buffer = device.allocate(6 << 20, stream);
    fake('KERNEL_US', 30_000);
    const module = device.loadModule(fakeImage('k()'));
    module.function('k').launch(geometry, stream, ...none);
    fake('KERNEL_US', 0);
    stream.memset(buffer, 0, 9, 6 << 20);
    const out = new Uint8Array(6 << 20);
    const done = stream.copyToHost(out, buffer);
    buffer.free();
    expect(device.liveBytes).toBe(0);
    await done;
    expect(out.every((byte) => byte === 9)).toBe(true);
    module.dispose();
  });
});

describe('what JavaScript forgets', () => {
  test('is freed by the garbage collector', async () => {
    await collectGarbage();
    await stream.synchronize();
    const before = await settledCounts(addon);
    (() => {
      for (let i = 0; i < 50; i++) {
        const own = device.createStream();
        device.allocate(1000, own);
        device.createEvent();
        device.loadModule(fakeImage('k()')).function('k');
        device.allocatePinned(100);
        own.beginCapture();
        own.endCapture().instantiate();
      }
    })();
    expect(fakeCounts(addon).streams).toBe(before.streams + 50);
    await expect
      .poll(
        async () => {
          await collectGarbage();
          const { streams, events, buffers, pinned, modules, graphs, execs } = fakeCounts(addon);
          return { streams, events, buffers, pinned, modules, graphs, execs };
        },
        { timeout: 10_000 },
      )
      .toMatchObject({
        streams: before.streams,
        buffers: before.buffers,
        modules: before.modules,
        graphs: before.graphs,
        execs: before.execs,
      });
    const after = fakeCounts(addon);
    expect(after.pinned).toBeLessThanOrEqual(before.pinned);
    expect(after.events).toBeLessThanOrEqual(before.events + 1);
  });
});

describe('handles are checked', () => {
  test('another kind of handle, a foreign object and no object are clear errors', () => {
    const buffer = device.allocate(8, stream);
    const wrong = buffer[native] as unknown as StreamHandle;
    expect(() => addon.streamQuery(wrong)).toThrow(
      'expected the handle of a stream, got one of a buffer',
    );
    for (const value of [{}, undefined, 5, 'x', Object.create(null)]) {
      expect(codeOf(() => addon.streamQuery(value as StreamHandle))).toBe('INVALID_HANDLE');
      expect(codeOf(() => stream.copyDeviceToDevice(value as typeof buffer, 0, buffer, 0, 1))).toBe(
        'INVALID_ARGUMENT',
      );
    }
    buffer.dispose();
  });

  test('the raw calls refuse arguments of wrong types without crashing', () => {
    const buffer = device.allocate(8, stream);
    const raw = addon as unknown as Record<string, (...args: unknown[]) => unknown>;
    const handle: BufferHandle = buffer[native];
    for (const [name, call] of Object.entries(raw)) {
      if (name === 'initialise' || name === 'pendingCount') continue;
      for (const value of [undefined, 'text', {}, handle, 1e300]) {
        try {
          const result = call(value, value, value, value, value, value);
          if (result instanceof Promise) result.catch(() => undefined);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }
    }
    expect(device.name).toBe('Fake GPU 0');
  });

  test('an object of another copy of the package is an error that names both versions', () => {
    const foreign = { [Symbol.for('@mercer/cuda-runtime')]: '9.8.7' } as unknown as CudaStream;
    expect(codeOf(() => device.allocate(8, foreign))).toBe('TWO_COPIES');
    expect(() => device.allocate(8, foreign)).toThrow(/version 9\.8\.7\).*version \d+\.\d+\.\d+/);
  });
});
