import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fake, fakeCounts, fakeImage, settledCounts, useFakeDriver } from '../test/fake-device.mjs';
import type { LaunchGeometry } from './cuda-function.js';
import { cuda } from './cuda.js';
import type { DeviceBuffer } from './device-buffer.js';
import type { CudaDevice } from './device.js';
import type { CudaModule } from './module.js';
import { loadAddon } from './native/load-addon.js';
import type { CudaStream } from './stream.js';

let device: CudaDevice;
let stream: CudaStream;
let module: CudaModule;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 2 });
  device = cuda.device(0);
  stream = device.createStream();
  module = device.loadModule(fakeImage('none() pair(8,4) map(128,8)'));
});
beforeEach(() => fake('KERNEL_US', 0));
afterEach(() => void vi.unstubAllEnvs());

const one: LaunchGeometry = { grid: [1, 1, 1], block: [32, 1, 1], sharedMemBytes: 0 };
const none = [new Uint8Array(0), new Uint32Array(0)] as const;

describe('functions', () => {
  test('are found by name; a missing one says which', () => {
    expect(module.function('pair').name).toBe('pair');
    expect(() => module.function('absent')).toThrow('the module has no kernel named absent');
  });

  test('tell their attributes, parameters and occupancy', () => {
    const kernel = module.function('map');
    expect(kernel.attributes).toEqual({
      registers: 32,
      localBytes: 0,
      sharedBytes: 0,
      constBytes: 0,
      maxThreadsPerBlock: 1024,
      binaryVersion: 90,
    });
    expect(kernel.paramBytes).toEqual([128, 8]);
    expect(kernel.maxActiveBlocks(256, 0)).toBe(8);
    expect(kernel.maxActiveClusters({ ...one, cluster: [2, 1, 1] })).toBe(16);
    kernel.setMaxDynamicSharedMem(200_000);
    kernel.allowNonPortableClusterSize();
    expect(() => kernel.setMaxDynamicSharedMem(300_000)).toThrow('CUDA_ERROR_INVALID_VALUE');
  });

  test('can be loaded on another thread, kernels included', async () => {
    const loaded = await device.loadModuleAsync(fakeImage('late()'), ['late']);
    loaded.function('late').launch(one, stream, ...none);
    await stream.whenDone();
    loaded.dispose();
    await expect(device.loadModuleAsync(fakeImage('late()'), ['absent'])).rejects.toMatchObject({
      code: 'NO_SUCH_FUNCTION',
    });
    await expect(device.loadModuleAsync(new Uint8Array(9))).rejects.toMatchObject({
      code: 'CUDA_ERROR_INVALID_IMAGE',
      status: 200,
    });
  });

  test('a broken image is an error of its own', () => {
    expect(() => device.loadModule(new TextEncoder().encode('garbage'))).toThrow(
      'CUDA_ERROR_INVALID_IMAGE',
    );
  });

  test('PTX newer than the driver is DRIVER_TOO_OLD', () => {
    fake('PTX_TOO_NEW', 1);
    expect(() => device.loadModule(new TextEncoder().encode('// ptx'))).toThrow(
      expect.objectContaining({ code: 'DRIVER_TOO_OLD' }) as Error,
    );
    fake('PTX_TOO_NEW', undefined);
  });
});

describe('parameters', () => {
  test.each([
    ['too few', new Uint8Array(16), Uint32Array.of(0), 'takes 2 parameters, got offsets of 1'],
    [
      'too many',
      new Uint8Array(16),
      Uint32Array.of(0, 8, 12),
      'takes 2 parameters, got offsets of 3',
    ],
    ['cut off', new Uint8Array(11), Uint32Array.of(0, 8), 'parameter 1 (4 bytes at 8)'],
    [
      'outside',
      new Uint8Array(16),
      Uint32Array.of(0, 0xffffffff),
      'parameter 1 (4 bytes at 4294967295)',
    ],
  ])('%s is refused before the driver reads past the end', (_name, params, offsets, message) => {
    expect(() => module.function('pair').launch(one, stream, params, offsets)).toThrow(message);
  });

  test('more than a launch can carry is refused', () => {
    expect(() =>
      module.function('none').launch(one, stream, new Uint8Array(40_000), new Uint32Array(0)),
    ).toThrow('more than a launch can carry');
  });

  test('of other array types are refused', () => {
    const wrong = new Float32Array(4) as unknown as Uint8Array;
    expect(() => module.function('none').launch(one, stream, wrong, new Uint32Array(0))).toThrow(
      'Uint8Array',
    );
  });
});

describe('geometry', () => {
  test.each([
    [{ ...one, grid: [-1, 1, 1] }],
    [{ ...one, grid: [1.5, 1, 1] }],
    [{ ...one, grid: [2 ** 32, 1, 1] }],
    [{ ...one, sharedMemBytes: -1 }],
    [{ ...one, block: [32.5, 1, 1] }],
    [{ ...one, cluster: [NaN, 1, 1] }],
  ] as [LaunchGeometry][])('%o is refused', (geometry) => {
    expect(() => module.function('none').launch(geometry, stream, ...none)).toThrow(
      'is not a launch geometry',
    );
  });

  test('an empty grid is the driver’s error, with the remedy', () => {
    expect(() =>
      module.function('none').launch({ ...one, grid: [0, 1, 1] }, stream, ...none),
    ).toThrow(/cuLaunchKernelEx on cuda:0 failed: CUDA_ERROR_INVALID_VALUE \(1\).*Check grid/);
    expect(device.dead).toBeUndefined();
  });

  test('a stream of another device is refused', () => {
    expect(() =>
      module.function('none').launch(one, cuda.device(1).defaultStream, ...none),
    ).toThrow('is loaded on cuda:0, the stream belongs to cuda:1');
  });
});

describe('launches in flight', () => {
  test('are counted, and room comes when they end', async () => {
    const kernel = module.function('none');
    fake('KERNEL_US', 500);
    for (let i = 0; i < 200; i++) kernel.launch(one, stream, ...none);
    fake('KERNEL_US', 0);
    const busy = stream.inFlight;
    expect(busy).toBeGreaterThan(100);
    await stream.whenInFlightBelow(50);
    expect(stream.inFlight).toBeLessThan(50 + 32);
    expect(stream.query()).toBe(false);
    await stream.whenDone();
    expect(stream.inFlight).toBe(0);
    await stream.whenInFlightBelow(1);
  });

  test('waiting for room of a quiet stream resolves at once', async () => {
    await stream.whenInFlightBelow(1000);
    expect(stream.query()).toBe(true);
  });

  test('whenDone resolves in order and after the work', async () => {
    const kernel = module.function('none');
    const order: number[] = [];
    fake('KERNEL_US', 5000);
    const waits = Array.from({ length: 10 }, (_, i) => {
      kernel.launch(one, stream, ...none);
      return stream.whenDone().then(() => order.push(i));
    });
    expect(stream.query()).toBe(false);
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(stream.query()).toBe(true);
  });

  test('each is counted once by the driver', async () => {
    const { addon } = loadAddon();
    const before = fakeCounts(addon).launches;
    for (let i = 0; i < 100; i++) module.function('none').launch(one, stream, ...none);
    await stream.whenDone();
    expect(fakeCounts(addon).launches).toBe(before + 100);
  });
});

describe('launches as graphs of one kernel', () => {
  const OFTEN = 16;
  const pointers = (buffer: DeviceBuffer): [Uint8Array, Uint32Array] => {
    const params = new DataView(new ArrayBuffer(16));
    params.setBigUint64(0, buffer.address, true);
    params.setBigInt64(8, BigInt(buffer.bytes), true);
    return [new Uint8Array(params.buffer), Uint32Array.of(0, 8)];
  };
  const bytesOf = async (buffer: DeviceBuffer): Promise<number[]> => {
    const host = new Uint8Array(buffer.bytes);
    await stream.copyToHost(host, buffer);
    return [...host];
  };
  const settled = async (): Promise<number> => (await settledCounts(loadAddon().addon)).execs;
  const zeros = (bytes: number): DeviceBuffer => {
    const made = device.allocate(bytes, stream);
    stream.memset(made, 0, 0, bytes);
    return made;
  };

  test('each has its own values, whatever is under way', async () => {
    const before = await settled();
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    const buffers = [zeros(3), zeros(5)] as const;
    const launched = fakeCounts(loadAddon().addon).launches;
    fake('KERNEL_US', 200);
    for (let n = 0; n < 4 * OFTEN; n++)
      kernel.launch(one, stream, ...pointers(buffers[n % 3 && 1]));
    fake('KERNEL_US', 0);
    expect(stream.inFlight).toBeGreaterThan(OFTEN);
    expect(await bytesOf(buffers[0])).toEqual(Array(3).fill(22));
    expect(await bytesOf(buffers[1])).toEqual(Array(5).fill(42));
    expect(fakeCounts(loadAddon().addon).launches).toBe(launched + 4 * OFTEN);
    expect(await settled()).toBe(before + 1);
    code.dispose();
    await expect.poll(() => fakeCounts(loadAddon().addon).execs).toBe(before);
    for (const buffer of buffers) buffer.free();
  });

  test('streams have one each, up to four, and leave theirs to others', async () => {
    const before = await settled();
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    const streams = Array.from({ length: 6 }, () => device.createStream());
    using buffer = zeros(4);
    await stream.whenDone();
    for (let n = 0; n < 2 * OFTEN; n++)
      for (const on of streams) kernel.launch(one, on, ...pointers(buffer));
    expect(await settled()).toBe(before + 4);
    for (const on of streams) {
      await on.whenDone();
      on.dispose();
    }
    for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    expect(await settled()).toBe(before + 1);
  });

  test('clusters, early starts and streams with a priority have none', async () => {
    const before = await settled();
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    using buffer = zeros(4);
    using first = device.createStream({ priority: -1 });
    await stream.whenDone();
    for (let n = 0; n < 2 * OFTEN; n++) {
      kernel.launch({ ...one, cluster: [1, 1, 1] }, stream, ...pointers(buffer));
      kernel.launch({ ...one, programmatic: true }, stream, ...pointers(buffer));
      await stream.whenDone();
      kernel.launch(one, first, ...pointers(buffer));
      await first.whenDone();
    }
    expect(await bytesOf(buffer)).toEqual(Array(4).fill(6 * OFTEN));
    expect(await settled()).toBe(before);
  });

  test('captured launches are none, also of streams that wait for captured work', async () => {
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    using buffer = zeros(4);
    using other = device.createStream();
    using event = device.createEvent();
    for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    await stream.whenDone();
    const before = await settled();
    stream.beginCapture();
    for (let n = 0; n < 2 * OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    stream.record(event);
    other.wait(event);
    for (let n = 0; n < 2 * OFTEN; n++) kernel.launch(one, other, ...pointers(buffer));
    expect(() => device.allocate(8, other)).toThrow('while the stream captures a graph');
    other.record(event);
    stream.wait(event);
    using graph = stream.endCapture();
    expect(graph.nodeCount).toBeGreaterThanOrEqual(2 * OFTEN);
    device.allocate(8, other).free();
    await other.whenDone();
    expect(await settled()).toBe(before);
    // afterwards they are, on both
    using after = device.loadModule(fakeImage('increment(8,8)'));
    for (let n = 0; n < OFTEN; n++)
      for (const on of [stream, other])
        after.function('increment').launch(one, on, ...pointers(buffer));
    expect(await settled()).toBe(before + 2);
  });

  test('a stream on which a function was launched once leaves a graph to those where it is launched often', async () => {
    const before = await settled();
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    const streams = Array.from({ length: 5 }, () => device.createStream());
    using buffer = zeros(4);
    await stream.whenDone();
    for (const on of streams) kernel.launch(one, on, ...pointers(buffer));
    for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    expect(await settled()).toBe(before + 1);
    for (const on of streams) on.dispose();
  });

  test('a graph that the driver does not launch gives way to the launch itself', async () => {
    const before = await settled();
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    using buffer = zeros(4);
    fake('GRAPH_LAUNCHES', 0);
    for (let n = 0; n < 2 * OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    fake('GRAPH_LAUNCHES', undefined);
    expect(await bytesOf(buffer)).toEqual(Array(4).fill(2 * OFTEN));
    expect(await settled()).toBe(before);
    for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    expect(await settled()).toBe(before + 1);
  });

  test('an empty grid is the same error as before, and later launches run', async () => {
    using code = device.loadModule(fakeImage('increment(8,8)'));
    const kernel = code.function('increment');
    using buffer = zeros(4);
    for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...pointers(buffer));
    const empty: LaunchGeometry = { ...one, grid: [0, 1, 1] };
    expect(() => kernel.launch(empty, stream, ...pointers(buffer))).toThrow(
      /cuLaunchKernelEx on cuda:0 failed: CUDA_ERROR_INVALID_VALUE \(1\).*Check grid/,
    );
    kernel.launch(one, stream, ...pointers(buffer));
    expect(await bytesOf(buffer)).toEqual(Array(4).fill(OFTEN + 1));
  });

  test('a device keeps 256 of them; others launch as before', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `kernel${n}()`);
    using code = device.loadModule(fakeImage(names.join(' ')));
    const launched = fakeCounts(loadAddon().addon).launches;
    for (const name of names) {
      const kernel = code.function(name.slice(0, -2));
      for (let n = 0; n < OFTEN; n++) kernel.launch(one, stream, ...none);
    }
    expect(await settled()).toBe(256);
    expect(fakeCounts(loadAddon().addon).launches).toBe(launched + 300 * OFTEN);
  });
});

test.each([
  ['0', 0],
  ['2', 2],
])('MERCER_CUDA_LAUNCH_GRAPHS=%s leaves a device that many', async (given, most) => {
  const { addon } = loadAddon();
  cuda.device(1).dispose();
  const before = (await settledCounts(addon)).execs;
  vi.stubEnv('MERCER_CUDA_LAUNCH_GRAPHS', given);
  const limited = cuda.device(1);
  vi.unstubAllEnvs();
  const code = limited.loadModule(fakeImage('a() b() c()'));
  for (const name of ['a', 'b', 'c']) {
    const kernel = code.function(name);
    for (let n = 0; n < 40; n++) kernel.launch(one, limited.defaultStream, ...none);
  }
  expect(fakeCounts(addon).execs).toBe(before + most);
  limited.dispose();
});

test.each(['-1', 'none', '1.5', '1e9'])('MERCER_CUDA_LAUNCH_GRAPHS=%s is refused', (given) => {
  cuda.device(1).dispose();
  vi.stubEnv('MERCER_CUDA_LAUNCH_GRAPHS', given);
  expect(() => cuda.device(1)).toThrow(
    `MERCER_CUDA_LAUNCH_GRAPHS is "${given}", but says how many kernels`,
  );
});

describe('events', () => {
  test('are done before the first record, pending during, done after; time is measured', async () => {
    const [start, end] = [
      device.createEvent({ timing: true }),
      device.createEvent({ timing: true }),
    ];
    expect(start.query()).toBe(true);
    fake('KERNEL_US', 30_000);
    stream.record(start);
    module.function('none').launch(one, stream, ...none);
    stream.record(end);
    expect(end.query()).toBe(false);
    expect(() => end.elapsedMs(start)).toThrow('only once both are done');
    await end.synchronize();
    expect(end.elapsedMs(start)).toBeGreaterThan(25);
    expect(end.elapsedMs(start)).toBeLessThan(500);
  });

  test('without timing, or never recorded, cannot be subtracted', async () => {
    const [a, b] = [device.createEvent(), device.createEvent()];
    stream.record(a);
    stream.record(b);
    await b.synchronize();
    expect(() => b.elapsedMs(a)).toThrow('timing: true');
    const timed = [
      device.createEvent({ timing: true }),
      device.createEvent({ timing: true }),
    ] as const;
    expect(() => timed[1].elapsedMs(timed[0])).toThrow('must have been recorded');
  });

  test('order work across streams', async () => {
    const other = device.createStream({ priority: -1 });
    const event = device.createEvent();
    const buffer = device.allocate(8, stream);
    fake('KERNEL_US', 40_000);
    module.function('none').launch(one, stream, ...none);
    fake('KERNEL_US', 0);
    stream.memset(buffer, 0, 77, 8);
    stream.record(event);
    other.wait(event);
    const out = new Uint8Array(8);
    await other.copyToHost(out, buffer);
    expect(out[0]).toBe(77);
    expect(other.priority).toBe(-1);
    expect(other.handle).not.toBe(stream.handle);
    buffer.free();
    other.dispose();
  });
});
