import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf, fake, fakeCounts, settledCounts } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { Addon } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import type { CudaStream } from '../stream.js';
import type { SyevdOptions } from './eigen.js';
import { cusolver } from './cusolver.js';
import { launchIdle, solverBench, type SolverBench } from './solver.test-support.js';

let bench: SolverBench;
let addon: Addon;
beforeAll(async () => {
  bench = await solverBench();
  addon = loadAddon().addon;
});

/** Buffers for an eigenproblem of 2 x 2 on a stream. */
function problemOn(stream: CudaStream): { options: SyevdOptions; buffers: DeviceBuffer[] } {
  const buffers = [32, 16, 64, 4].map((bytes) => stream.device.allocate(bytes, stream));
  const [a, values, workspace, info] = buffers.map((buffer) => ({ buffer }));
  if (!a || !values || !workspace || !info) throw new Error('four buffers');
  const shape = { dtype: 'float64', uplo: 'lower', n: 2, vectors: true } as const;
  const options = { ...shape, a: { ...a, leadingDimension: 2 }, values, workspace, info };
  return { options, buffers };
}

describe('handles die with their stream', () => {
  test('once its work is done: both handles and both streams', async () => {
    const before = await settledCounts(addon);
    const stream = bench.device.createStream();
    const lines = await callsOf(async () => {
      await cusolver.prepare(stream);
      await cusolver.prepare(stream);
      fake('KERNEL_US', 60_000);
      launchIdle(bench.device, stream);
      fake('KERNEL_US', 0);
      const done = stream.whenDone();
      stream.dispose();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(fakeCounts(addon).streams).toBeGreaterThan(before.streams);
      await done;
      await expect.poll(() => fakeCounts(addon).streams).toBe(before.streams);
    });
    const count = (name: string): number => lines.filter((line) => line === name).length;
    expect([count('create'), count('destroy')]).toEqual([2, 2]);
    expect([count('createParams'), count('destroyParams')]).toEqual([2, 2]);
  });

  test('after a call under way on its solver thread, which keeps its buffers', async () => {
    const before = await settledCounts(addon);
    const stream = bench.device.createStream();
    await cusolver.prepare(stream);
    const { options, buffers } = problemOn(stream);
    await stream.whenDone();
    fake('SOLVER_US', 60_000);
    const done = cusolver.syevd(stream, options);
    for (const buffer of buffers) buffer.dispose();
    stream.dispose();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(fakeCounts(addon).buffers).toBe(before.buffers + 4);
    fake('SOLVER_US', 0);
    await done;
    await expect
      .poll(() => fakeCounts(addon))
      .toMatchObject({ streams: before.streams, buffers: before.buffers });
  });

  test('a stream that captures when it is disposed', async () => {
    const before = await settledCounts(addon);
    const stream = bench.device.createStream();
    await cusolver.prepare(stream);
    stream.beginCapture();
    stream.dispose();
    await expect
      .poll(() => fakeCounts(addon))
      .toMatchObject({ streams: before.streams, graphs: before.graphs });
  });
});

describe('a host workspace', () => {
  test('is kept until the work is done', async () => {
    const { stream, workspace, info, upload } = bench;
    fake('HOST_BYTES', 1 << 20);
    const a = { buffer: await upload(Float64Array.of(4)), leadingDimension: 1 };
    fake('KERNEL_US', 30_000);
    launchIdle(bench.device, stream);
    fake('KERNEL_US', 0);
    const shape = { dtype: 'float64', uplo: 'lower', n: 1 } as const;
    const lines = await callsOf(() => cusolver.potrf(stream, { ...shape, a, workspace, info }));
    fake('HOST_BYTES', undefined);
    expect(lines.at(-1)).toBe(`potrf 7 0 1 1 1 1 64 ${1 << 20}`);
    expect(await bench.doubles(a.buffer)).toEqual([2]);
  });
});

describe('a device', () => {
  test('that was disposed rejects what had not begun, and ends what had', async () => {
    const before = await settledCounts(addon);
    const there = cuda.device(1);
    const stream = there.createStream();
    await cusolver.prepare(stream);
    const { options } = problemOn(stream);
    fake('SOLVER_US', 50_000);
    const outcomes = Promise.allSettled([
      cusolver.syevd(stream, options),
      cusolver.syevd(stream, options),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    there.dispose();
    fake('SOLVER_US', 0);
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'DISPOSED' } },
    ]);
    stream.dispose();
    for (const { buffer } of [options.a, options.values, options.info]) buffer.dispose();
    options.workspace?.buffer.dispose();
    await expect
      .poll(() => fakeCounts(addon))
      .toMatchObject({ streams: before.streams, buffers: before.buffers });
  });

  test('that breaks rejects with its first cause, from the library and from the solver thread', async () => {
    const there = cuda.device(1);
    const stream = there.createStream();
    await cusolver.prepare(stream);
    const { options } = problemOn(stream);
    await stream.whenDone();
    fake('FAULT_AT', fakeCounts(addon).launches + 1);
    launchIdle(there, stream);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(there.dead).toBeUndefined();
    // The library only knows that something failed; the driver knows what.
    fake('FAIL_CALL', 'potrf');
    fake('FAIL_STATUS', 6);
    const { dtype, uplo, n, a, workspace, info } = options;
    const factor = { dtype, uplo, n, a, info, ...(workspace === undefined ? {} : { workspace }) };
    expect(() => cusolver.potrf(stream, factor)).toThrow(
      expect.objectContaining({
        code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
        status: 700,
        name: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      }) as Error,
    );
    fake('FAIL_CALL', undefined);
    await expect(cusolver.syevd(stream, options)).rejects.toMatchObject({
      code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      status: 700,
    });
    fake('FAULT_AT', 0);
    stream.dispose();
    expect(there.dead).toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS', status: 700 });
  });
});
