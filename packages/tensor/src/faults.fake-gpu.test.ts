import { cuda, CudaError } from '@mercer/cuda-runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { fake, useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { empty, full, tensor, zeros } from './create.js';
import { defaultDevice, device, devices } from './devices.js';
import { MercerError } from './mercer-error.js';
import { sumTo } from './sum-to.js';
import { codeOf } from './testing/device-suite.test-support.js';
import { incrementKernel } from './testing/increment-kernel.test-support.js';
import { undisposedBytes } from '../test/memory-kept.mjs';

const hasNvrtc = nvrtcFound();

const TOTAL = 64 * 2 ** 20;

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 3, TOTAL_BYTES: TOTAL });
  // what a stream keeps is used memory to the driver
  process.env['MERCER_KEEP_MEMORY'] = '0';
});

describe.skipIf(!hasNvrtc)('GPUs behind the fake driver (skipped only without NVRTC)', () => {
  it('are the default, in order', () => {
    expect(devices().map(({ id }) => id)).toEqual(['cuda:0', 'cuda:1', 'cuda:2', 'cpu']);
    expect(defaultDevice()).toBe(device('cuda'));
    expect(device('cuda')).toBe(device('cuda:0'));
    expect(() => device('cuda:3')).toThrow(MercerError);
    expect(() => device('cuda:3')).toThrow(/there are 3 GPUs/);
    expect(device('cuda:1').limits).toMatchObject({
      kind: 'cuda',
      arch: 'sm_90a',
      multiprocessors: 132,
    });
  });

  it('hold tensors, which move between them and the CPU', async () => {
    const data = Int32Array.from({ length: 50_000 }, (_, i) => i);
    const a = await tensor(data, { shape: [100, 500], device: 'cuda:0' });
    const b = await a.to('cuda:1');
    const c = await b.transpose().to('cpu');
    const d = await c.to('cuda:2');
    expect([a, b, c, d].map((t) => t.device.id)).toEqual(['cuda:0', 'cuda:1', 'cpu', 'cuda:2']);
    expect(d.shape).toEqual([500, 100]);
    expect(await d.transpose().toTypedArray()).toEqual(data);
    const target = await zeros([100, 500], { dtype: 'int32', device: 'cpu' });
    await target.copyFrom(a);
    expect(await target.toTypedArray()).toEqual(data);
    for (const t of [a, b, c, d, target]) t.dispose();
  });

  it('do not mix in one call', async () => {
    const a = await zeros([4], { device: 'cuda:0' });
    const b = await zeros([4], { device: 'cuda:1' });
    const stream = device('cuda:1').createStream();
    const kernel = await device('cuda:0').load(incrementKernel('cuda'));
    const bytes = await zeros([4], { dtype: 'uint8', device: 'cuda:1' });
    const launch = (s: typeof stream): void => {
      kernel.launch(s, { pointers: [bytes], scalars: { n: 4 } });
    };
    expect(await codeOf(() => a.clone({ out: b }))).toBe('DEVICE_MISMATCH');
    expect(await codeOf(() => a.clone({ stream }))).toBe('DEVICE_MISMATCH');
    expect(await codeOf(() => zeros([4], { device: 'cuda:0', stream }))).toBe('DEVICE_MISMATCH');
    expect(
      await codeOf(() => {
        launch(stream);
      }),
    ).toBe('DEVICE_MISMATCH');
    expect(
      await codeOf(() => {
        launch(device('cuda:0').defaultStream);
      }),
    ).toBe('DEVICE_MISMATCH');
    expect((await zeros([4], { stream })).device.id).toBe('cuda:1');
    for (const t of [a, b, bytes]) t.dispose();
    stream.dispose();
  });

  it('report what holds the memory when it is full, and go on', async () => {
    const gpu = device('cuda:1');
    const held = [1, 2, 3].map(() => empty([10, 2 ** 20], { dtype: 'uint8', device: gpu }));
    const error = await full([50 * 2 ** 20], 1, { dtype: 'uint8', device: gpu }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect((error as MercerError).message).toMatch(/30\.0 MiB +3 x {2}uint8 \[10, 1048576\]/);
    expect((error as MercerError).cause).toBeInstanceOf(Error);
    for (const t of held) t.dispose();
    const fits = await full([50 * 2 ** 20], 1, { dtype: 'uint8', device: gpu });
    expect((await fits.toTypedArray())[50 * 2 ** 20 - 1]).toBe(1);
    fits.dispose();
    expect(gpu.memory().liveBytes).toBe(0);
  });

  it('are out of memory in the midst of a call: a launch that fails keeps no result', async () => {
    const gpu = device('cuda:2');
    // Sums over two runs of axes: the result is small, and what lies between is as large as x.
    const x = await zeros([12, 2 ** 18, 2], { device: gpu, dtype: 'float64' });
    const before = undisposedBytes(gpu);
    await expect(sumTo(x, [2 ** 18, 1])).rejects.toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect(undisposedBytes(gpu)).toBe(before);
    x.dispose();
  });

  it('run a synchronous loop that never disposes through far more than they have', async () => {
    const gpu = device('cuda:2');
    const kernel = await gpu.load(incrementKernel('cuda'));
    for (let i = 0; i < 500; i++) {
      const result = empty([2 ** 20], { dtype: 'uint8', device: gpu });
      kernel.launch(gpu.defaultStream, { pointers: [result], scalars: { n: 16 } });
    }
    expect(gpu.memory().leaks).toBeGreaterThan(400);
    expect(gpu.memory().liveBytes).toBeLessThanOrEqual(TOTAL);
    await gpu.synchronize();
  });

  it('give memory back only when every stream that used it is done', async () => {
    const gpu = device('cuda:0');
    const kernel = await gpu.load(incrementKernel('cuda'));
    const [fast, slow] = [gpu.createStream(), gpu.createStream()];
    const t = await zeros([2 ** 20], { dtype: 'uint8', device: gpu, stream: fast });
    await gpu.synchronize();
    const { pool } = cuda.device(0);
    const used = pool.usedBytes;
    fake('KERNEL_US', 50_000);
    kernel.launch(slow, { pointers: [t], scalars: { n: 16 } });
    fake('KERNEL_US', undefined);
    const copy = await t.clone({ stream: fast }); // waits for the write on the other stream
    const other = await zeros([1], { device: gpu, stream: slow });
    t.dispose();
    expect(gpu.memory().liveBytes).toBe(2 ** 20 + 4);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(pool.usedBytes).toBeGreaterThanOrEqual(used + 2 ** 20);
    expect((await copy.toTypedArray({ stream: fast }))[15]).toBe(1);
    copy.dispose();
    other.dispose();
    await gpu.synchronize();
    for (let i = 0; i < 100 && pool.usedBytes >= used; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(pool.usedBytes).toBeLessThan(used);
    fast.dispose();
    slow.dispose();
  });

  it('carry a failed kernel to whoever waits, and to every later call', async () => {
    const gpu = device('cuda:2');
    const kernel = await gpu.load(incrementKernel('cuda'));
    const t = await zeros([16], { dtype: 'uint8', device: gpu });
    await gpu.synchronize();
    const launch = (): void => {
      kernel.launch(gpu.defaultStream, { pointers: [t], scalars: { n: 16 } });
    };
    // The fault comes with the launch of this number in the process.
    fake('FAULT_AT', 2000);
    await expect(
      (async () => {
        for (let i = 0; i < 2000; i++) {
          launch();
          if (i % 10 === 0) await gpu.synchronize();
        }
      })(),
    ).rejects.toBeInstanceOf(CudaError);
    fake('FAULT_AT', undefined);
    await expect(t.toTypedArray()).rejects.toBeInstanceOf(CudaError);
    await expect(t.ready()).rejects.toBeInstanceOf(CudaError);
    await expect(gpu.synchronize()).rejects.toBeInstanceOf(CudaError);
    expect(launch).toThrow(CudaError);
    t.dispose(); // still no error
    const other = await full([4], 3, { device: 'cuda:0' });
    expect(await other.toNested()).toEqual([3, 3, 3, 3]);
    other.dispose();
  });
});
