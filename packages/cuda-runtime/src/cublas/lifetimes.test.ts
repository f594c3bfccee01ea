import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf, fake, fakeCounts, settledCounts } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import { launchIdle, solverBench, type SolverBench } from '../cusolver/solver.test-support.js';
import type { Addon } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import { cublas } from './cublas.js';
import type { TrsmOptions } from './triangular.js';

let bench: SolverBench;
let addon: Addon;
beforeAll(async () => {
  bench = await solverBench();
  addon = loadAddon().addon;
});

/** 2 x = 6, which leaves 3. */
async function problem(): Promise<TrsmOptions> {
  const a = { buffer: await bench.upload(Float64Array.of(2)), leadingDimension: 1 };
  const b = { buffer: await bench.upload(Float64Array.of(6)), leadingDimension: 1 };
  return { dtype: 'float64', side: 'left', uplo: 'lower', rows: 1, columns: 1, a, b };
}

describe('a captured graph', () => {
  test('holds the solves, works in memory given by the handle and keeps the buffers', async () => {
    const { device, doubles } = bench;
    const options = await problem();
    const own = device.createStream();
    await bench.stream.whenDone();
    await cublas.prepare(own);
    own.beginCapture();
    cublas.trsm(own, options);
    cublas.trsm(own, { ...options, alpha: 4 });
    const graph = own.endCapture();
    expect(graph.nodeCount).toBe(2);
    const exec = graph.instantiate();
    options.a.buffer.dispose();
    graph.dispose();
    exec.launch(own);
    await own.whenDone();
    expect(await doubles(options.b.buffer)).toEqual([6]);
    exec.dispose();
    own.dispose();
  });

  test('keeps the workspace of a stream that is disposed before it, or that of the caller', async () => {
    const { device } = bench;
    const options = await problem();
    const before = await settledCounts(addon);
    for (const given of [false, true]) {
      const own = device.createStream();
      await cublas.prepare(own);
      const workspace = { buffer: device.allocate(1 << 20, bench.stream) };
      await bench.stream.whenDone();
      own.beginCapture();
      cublas.trsm(own, given ? { ...options, workspace } : options);
      const graph = own.endCapture();
      own.dispose();
      workspace.buffer.dispose();
      // Handle and streams are gone; what the graph works in is not.
      await expect.poll(() => fakeCounts(addon).streams).toBe(before.streams);
      expect(await settledCounts(addon)).toMatchObject({ buffers: before.buffers + 1 });
      graph.dispose();
      await expect.poll(() => fakeCounts(addon).buffers).toBe(before.buffers);
    }
  });

  test('refuses to make the handle', async () => {
    const own = bench.device.createStream();
    const options = await problem();
    own.beginCapture();
    expect(() => cublas.trsm(own, options)).toThrow(
      expect.objectContaining({
        code: 'CAPTURING',
        message: expect.stringContaining('cublas.prepare') as string,
      }) as Error,
    );
    await expect(cublas.prepare(own)).rejects.toMatchObject({ code: 'CAPTURING' });
    own.endCapture().dispose();
    own.dispose();
  });
});

describe('a handle', () => {
  test('is made once, on the first call or before, for each stream', async () => {
    const { device } = bench;
    const options = await problem();
    const [first, second] = [device.createStream(), device.createStream()];
    const lines = await callsOf(async () => {
      cublas.trsm(first, options);
      await cublas.prepare(first);
      await cublas.prepare(second);
      cublas.trsm(second, options);
    });
    expect(lines.filter((line) => line === 'blasCreate')).toHaveLength(2);
    await Promise.all([first.whenDone(), second.whenDone()]);
    first.dispose();
    second.dispose();
  });

  test('dies with its stream once its work is done, and so does its workspace', async () => {
    const { device } = bench;
    const options = await problem();
    const before = await settledCounts(addon);
    const stream = device.createStream();
    const lines = await callsOf(async () => {
      await cublas.prepare(stream);
      expect(fakeCounts(addon).buffers).toBe(before.buffers + 1);
      fake('KERNEL_US', 60_000);
      launchIdle(device, stream);
      fake('KERNEL_US', 0);
      cublas.trsm(stream, options);
      const done = stream.whenDone();
      stream.dispose();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(fakeCounts(addon).streams).toBeGreaterThan(before.streams);
      await done;
      await expect
        .poll(() => fakeCounts(addon))
        .toMatchObject({ streams: before.streams, buffers: before.buffers });
    });
    expect(lines.filter((line) => line === 'blasDestroy')).toHaveLength(1);
  });

  test('of a device that breaks gives its first cause', async () => {
    const there = cuda.device(1);
    const stream = there.createStream();
    await cublas.prepare(stream);
    const at = { buffer: there.allocate(8, stream), leadingDimension: 1 };
    await stream.whenDone();
    fake('FAULT_AT', fakeCounts(addon).launches + 1);
    launchIdle(there, stream);
    await new Promise((resolve) => setTimeout(resolve, 30));
    // The library only knows that something failed; the driver knows what.
    fake('FAIL_CALL', 'dtrsm_64');
    fake('FAIL_STATUS', 13);
    const options = { ...(await problem()), a: at, b: at };
    expect(() => cublas.trsm(stream, options)).toThrow(
      expect.objectContaining({
        code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
        status: 700,
        name: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      }) as Error,
    );
    fake('FAIL_CALL', undefined);
    fake('FAULT_AT', 0);
    stream.dispose();
    expect(there.dead).toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS', status: 700 });
  });
});
