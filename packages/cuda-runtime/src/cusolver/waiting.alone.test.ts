import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callsOf, fake } from '../../test/fake-device.mjs';
import type { CudaStream } from '../stream.js';
import { cusolver } from './cusolver.js';
import { launchIdle, solverBench, type SolverBench } from './solver.test-support.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
});
beforeEach(() => bench.stream.memset(bench.info.buffer, 0, 99, 4, 4));

describe('calls that wait inside the library', () => {
  const diagonal = Float64Array.of(3, 0, 0, 5);

  test('syevd runs beside the stream, after its work, and resolves when the results are there', async () => {
    const { device, stream, workspace, info, upload, doubles, infoValue } = bench;
    const a = await upload(Float64Array.of(1, 0, 0, 1));
    const values = { buffer: device.allocate(16, stream) };
    const matrix = { buffer: a, leadingDimension: 2 };
    const problem = { dtype: 'float64', uplo: 'lower', n: 2, a: matrix, values } as const;
    const shape = { ...problem, vectors: true };
    const options = { ...shape, workspace, info };
    expect(cusolver.syevdWorkspace(stream, shape).deviceBytes).toBe(64);
    fake('KERNEL_US', 60_000);
    launchIdle(device, stream);
    fake('KERNEL_US', 0);
    await stream.copyToDevice(a, 0, diagonal);
    const start = performance.now();
    let done = Promise.resolve();
    const lines = await callsOf(async () => {
      done = cusolver.syevd(stream, options);
      expect(performance.now() - start).toBeLessThan(50);
      expect(stream.query()).toBe(false);
      await done;
    });
    expect(lines).toEqual(['syevd_bufferSize 1 0 2 1 2', 'syevd 1 0 2 1 2 64 0']);
    expect(await doubles(values.buffer)).toEqual([3, 5]);
    expect(await infoValue()).toBe(0);
  });

  test('many eigenproblems at once, one info each', async () => {
    const { device, stream, workspace, upload, doubles } = bench;
    const a = await upload(Float64Array.of(...diagonal, 7, 0, 0, 8));
    const values = { buffer: device.allocate(32, stream) };
    const infos = { buffer: device.allocate(8, stream) };
    const matrix = { buffer: a, leadingDimension: 2 };
    const problem = { dtype: 'float64', uplo: 'upper', n: 2, a: matrix, values } as const;
    const shape = { ...problem, vectors: false, batch: 2 };
    const options = { ...shape, workspace, infos };
    expect(cusolver.syevBatchedWorkspace(stream, shape).deviceBytes).toBe(64);
    const lines = await callsOf(() => cusolver.syevBatched(stream, options));
    expect(lines.at(-1)).toBe('syevBatched 0 1 2 1 2 64 0 2');
    expect(await doubles(values.buffer)).toEqual([3, 5, 7, 8]);
    await expect(cusolver.syevBatched(stream, { ...options, batch: 3 })).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
    });
    await expect(cusolver.syevBatched(stream, { ...options, batch: 0 })).rejects.toThrow(
      'batch of 0',
    );
  });

  test('gesvd gives U and the transpose of V where they are wanted', async () => {
    const { device, stream, workspace, info, upload, doubles } = bench;
    const a = { buffer: await upload(Float64Array.of(3, 0, 0, 0, 5, 0)), leadingDimension: 3 };
    const values = { buffer: device.allocate(16, stream) };
    const u = { buffer: device.allocate(72, stream), leadingDimension: 3 };
    const vt = { buffer: device.allocate(32, stream), leadingDimension: 2 };
    const shape = { dtype: 'float64', rows: 3, columns: 2, a, values } as const;
    const full = { ...shape, leftVectors: 'all', u, rightVectors: 'all', vt } as const;
    expect(cusolver.gesvdWorkspace(stream, full).deviceBytes).toBe(64);
    const lines = await callsOf(async () => {
      await cusolver.gesvd(stream, { ...full, workspace, info });
      const thin = { ...full, leftVectors: 'thin', rightVectors: 'thin' } as const;
      await cusolver.gesvd(stream, { ...thin, workspace, info });
      const none = { ...shape, leftVectors: 'none', rightVectors: 'none' } as const;
      await cusolver.gesvd(stream, { ...none, workspace, info });
    });
    expect(lines.filter((line) => line.startsWith('gesvd '))).toEqual([
      'gesvd A A 3 2 1 3 3 2 64 0',
      'gesvd S S 3 2 1 3 3 2 64 0',
      'gesvd N N 3 2 1 3 3 2 64 0',
    ]);
    expect(await doubles(values.buffer)).toEqual([3, 5]);
    expect([(await doubles(u.buffer))[0], (await doubles(vt.buffer))[0]]).toEqual([1, 2]);
    const missing = { ...shape, leftVectors: 'thin', rightVectors: 'none' } as const;
    await expect(cusolver.gesvd(stream, { ...missing, workspace, info })).rejects.toThrow(
      'needs memory for a matrix of 3 x 2',
    );
    await expect(cusolver.gesvd(stream, { ...full, rows: 1, workspace, info })).rejects.toThrow(
      'give it the transpose',
    );
  });

  test('two of one stream run one after another, of two streams at the same time', async () => {
    const { device, stream } = bench;
    const other = device.createStream();
    await Promise.all([cusolver.prepare(stream), cusolver.prepare(other)]);
    const run = async (on: CudaStream): Promise<void> => {
      const a = { buffer: device.allocate(32, on), leadingDimension: 2 };
      const values = { buffer: device.allocate(16, on) };
      const own = { buffer: device.allocate(64, on) };
      const status = { buffer: device.allocate(4, on) };
      const problem = { dtype: 'float64', uplo: 'lower', n: 2, a, values, vectors: true } as const;
      await cusolver.syevd(on, { ...problem, workspace: own, info: status });
    };
    fake('SOLVER_US', 100_000);
    const timed = async (work: Promise<void>[]): Promise<number> => {
      const start = performance.now();
      await Promise.all(work);
      return performance.now() - start;
    };
    const one = await timed([run(stream), run(stream)]);
    const two = await timed([run(stream), run(other)]);
    fake('SOLVER_US', 0);
    expect(one).toBeGreaterThan(195);
    expect(two).toBeLessThan(one);
    other.dispose();
  });
});
