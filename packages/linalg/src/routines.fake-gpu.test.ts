import { CudaGraphExec, CusolverError } from '@mercer/cuda-runtime';
import { device, empty, type Device, type Progress, type Tensor } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  callsOf,
  fake,
  useFakeDriver,
  useFakeSolvers,
} from '../../cuda-runtime/test/fake-device.mjs';
import { abortedEverywhere } from '../../tensor/test/aborted-everywhere.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cholesky } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { kron } from './kron.js';
import { logdet } from './logdet.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { refineEigenbasis } from './refine-eigenbasis.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { spin } from './spin.test-support.js';
import { svd } from './svd.js';
import { solveTriangular } from './solve-triangular.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

const hasNvrtc = nvrtcFound();

/*
 * The fake driver runs no kernels, so nothing is said of values here: what is enqueued, what waits and what is left behind.
 */

let gpu: Device;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 32 });
  await useFakeSolvers();
  gpu = device('cuda:0');
});
afterEach(() => fake('FAIL_CALL', undefined));

type Options = { readonly signal?: AbortSignal; readonly onProgress?: (p: Progress) => void };
type Call = (a: Tensor<'float32'>, b: Tensor<'float32'>, o?: Options) => Promise<unknown>;

const CALLS: readonly (readonly [string, Call])[] = [
  ['solveCholesky', (a, b, o) => solveCholesky(a, b, o)],
  [
    'solveCholesky in place',
    (a, b, o) => solveCholesky(a, b, { ...o, overwriteA: true, overwriteB: true }),
  ],
  ['solveCholesky refined', (a, b, o) => solveCholesky(a, b, { ...o, refine: 2 })],
  ['solveLU', (a, b, o) => solveLU(a, b, o)],
  ['solveLU refined', (a, b, o) => solveLU(a, b, { ...o, refine: 1 })],
  ['solveTriangular', (a, b, o) => solveTriangular(a, b, { ...o, transpose: true })],
  ['cholesky', (a, _, o) => cholesky(a, { ...o, uplo: 'upper' })],
  ['inv', (a, _, o) => inv(a, o)],
  ['logdet', (a, _, o) => logdet(a, { ...o, method: 'cholesky' })],
  ['conditionEstimate', (a, _, o) => conditionEstimate(a, o)],
  ['eigh', (a, _, o) => eigh(a, o)],
  ['qr', (a, _, o) => qr(a, o)],
  ['svd', (a, _, o) => svd(a, o)],
  ['lstsq', (a, b, o) => lstsq(a, b, o)],
  ['matrixPower', (a, _, o) => matrixPower(a, -0.5, o)],
  [
    'matrixPower by Newton',
    (a, _, o) => matrixPower(a, -0.5, { ...o, method: 'newton', steps: 5 }),
  ],
  ['refineEigenbasis', (a, _, o) => refineEigenbasis(a, a, o)],
  [
    'cholesky with jitter',
    (a, _, o) => cholesky(a, { ...o, jitter: 'escalate', checkErrors: true }),
  ],
  ['matmul', (a, b, o) => matmul(a, b, o)],
  [
    'matmul of several launches',
    (a, b, o) => {
      const [count = 0, n = 0] = a.shape;
      return matmul(a.reshape([count, 1, n, n]), b, o);
    },
  ],
  ['kron', (a, b, o) => kron(a, b, o)],
];

/** What is enqueued at once when its kernels are there. */
const AT_ONCE = ['matmul', 'matrixPower by Newton'];

const live = (): number => undisposedBytes(device('cuda:0'));

function release(results: unknown): void {
  const list = typeof results === 'object' && results !== null ? Object.values(results) : [];
  for (const value of 'dispose' in (results as object) ? [results] : list) {
    (value as Tensor).dispose();
  }
}

const operands = (n: number, count: number): [Tensor<'float32'>, Tensor<'float32'>] => [
  empty([count, n, n], { device: gpu }),
  empty([count, n, 2], { device: gpu }),
];

describe.skipIf(!hasNvrtc)('on a GPU behind the fake driver (skipped only without NVRTC)', () => {
  it.each(CALLS)('%s gives back all that it worked in', async (name, call) => {
    for (const [n, count] of [
      [16, 3],
      [128, 3],
      [128, 20],
    ] as const) {
      if (name === 'kron' && n > 16) continue;
      const [a, b] = operands(n, count);
      const before = live();
      release(await call(a, b));
      expect(live()).toBe(before);
      a.dispose();
      b.dispose();
    }
  });

  it.each(CALLS)(
    '%s, aborted wherever it looks, gives back all that it worked in',
    async (name, call) => {
      for (const [n, count] of [
        [16, 3],
        [128, 3],
      ] as const) {
        if (name === 'kron' && n > 16) continue;
        const [a, b] = operands(n, count);
        const looks = await abortedEverywhere((signal) => call(a, b, { signal }), live);
        // what is one launch looks before it
        expect(looks).toBeGreaterThan(AT_ONCE.includes(name) ? 0 : 1);
        a.dispose();
        b.dispose();
      }
    },
  );

  it.each(
    CALLS.filter(([name]) => ['svd', 'qr', 'inv', 'solveTriangular', 'cholesky'].includes(name)),
  )('%s tells after each matrix', async (_, call) => {
    const [a, b] = operands(128, 5);
    const steps: Progress[] = [];
    release(await call(a, b, { onProgress: (step) => steps.push(step) }));
    expect(steps).toEqual([1, 2, 3, 4, 5].map((done) => ({ done, total: 5 })));
    a.dispose();
    b.dispose();
  });

  it('a batch is left between matrices once it is given up', async () => {
    const [a, b] = operands(128, 40);
    const before = live();
    const controller = new AbortController();
    const reason = new Error('given up');
    const steps: number[] = [];
    const call = inv(a, {
      signal: controller.signal,
      onProgress: ({ done }) => {
        steps.push(done);
        if (done === 10) controller.abort(reason);
      },
    });
    await expect(call).rejects.toBe(reason);
    expect(steps.length).toBeLessThan(20);
    expect(live()).toBe(before);
    release(await inv(a));
    a.dispose();
    b.dispose();
  });

  it.each([
    ['solveCholesky', 'potrf', (a: Tensor<'float32'>, b: Tensor<'float32'>) => solveCholesky(a, b)],
    ['solveLU', 'sgetrf', (a: Tensor<'float32'>, b: Tensor<'float32'>) => solveLU(a, b)],
    ['qr', 'geqrf', (a: Tensor<'float32'>) => qr(a)],
    ['eigh', 'syevBatched', (a: Tensor<'float32'>) => eigh(a)],
  ] as const)(
    '%s that the library refuses throws its error and leaves nothing',
    async (_, name, call) => {
      const [a, b] = operands(128, 3);
      const before = live();
      fake('FAIL_CALL', name);
      fake('FAIL_STATUS', 7);
      await expect(call(a, b)).rejects.toThrow(CusolverError);
      expect(live()).toBe(before);
      a.dispose();
      b.dispose();
    },
  );

  it.each([
    ['float32', {}, ['sgetrf 97 97 97 pivots', 'sgetrs 0 97 2 97 pivots 97']],
    ['float64', {}, ['dgetrf 97 97 97 pivots', 'dgetrs 1 97 2 97 pivots 97']],
    ['float32', { overwriteA: true }, ['sgetrf 97 97 97 pivots', 'sgetrs 0 97 2 97 pivots 97']],
    ['float64', { overwriteA: true }, ['dgetrf 97 97 97 pivots', 'dgetrs 0 97 2 97 pivots 97']],
    ['float64', { refine: 0 }, ['sgetrf 97 97 97 pivots', 'sgetrs 0 97 2 97 pivots 97']],
  ] as const)(
    'solveLU of %s with %o calls the routines of its plan',
    async (dtype, options, calls) => {
      using a = empty([97, 97], { device: gpu, dtype });
      using b = empty([97, 2], { device: gpu, dtype });
      const lines = await callsOf(async () => {
        release(await solveLU(a, b, options));
        await gpu.synchronize();
      });
      expect(lines.filter((line) => /^[sd]?getr[fs] /.test(line))).toEqual(calls);
    },
  );

  it('lstsq without right-hand sides has singular values all the same', async () => {
    using a = empty([3, 2], { device: gpu, dtype: 'float64' });
    using b = empty([3, 0], { device: gpu, dtype: 'float64' });
    const lines = await callsOf(async () => {
      const { x, singularValues } = await lstsq(a, b);
      expect([x.shape, singularValues.shape]).toEqual([[2, 0], [2]]);
      await gpu.synchronize();
    });
    expect(lines.filter((line) => /gesvd/.test(line))).not.toEqual([]);
  });

  it('one large matrix in float32 is solved by its triangles, with rows exchanged between', async () => {
    using a = empty([2048, 2048], { device: gpu });
    using b = empty([2048, 2], { device: gpu });
    const lines = await callsOf(async () => {
      release(await solveLU(a, b));
      await gpu.synchronize();
    });
    expect(lines.filter((line) => /^s?getr[fs] |trsm/.test(line))).toEqual([
      'sgetrf 2048 2048 2048 pivots',
      expect.stringMatching(/^strsm_64 0 0 0 1 2048 2 1 /),
      expect.stringMatching(/^strsm_64 0 1 0 0 2048 2 1 /),
    ]);
  });

  it('what needs the factors of the matrix itself has them, determinants with int64 pivots', async () => {
    using a = empty([5, 5], { device: gpu, dtype: 'float64' });
    const lines = await callsOf(async () => {
      for (const call of [inv, conditionEstimate, logdet]) release(await call(a));
      await gpu.synchronize();
    });
    expect(lines.filter((line) => /^[sd]?getr[fs] /.test(line))).toEqual([
      'dgetrf 5 5 5 pivots',
      'dgetrs 0 5 5 5 pivots 5',
      'dgetrf 5 5 5 pivots',
      'dgetrs 0 5 5 5 pivots 5',
      expect.stringMatching(/^getrf 5 5 1 5 pivots /),
    ]);
  });

  /** Of orders that are not done in batches. */
  const FACTORS = [
    ['solveCholesky', 1030, 'potrf', (a, b) => solveCholesky(a, b, { overwriteA: true })],
    ['solveLU', 520, 'sgetrf', (a, b) => solveLU(a, b)],
    ['solveTriangular', 520, 'strsm_64', (a, b) => solveTriangular(a, b)],
    ['cholesky', 700, 'potrf', (a) => cholesky(a)],
    ['inv', 520, 'sgetrf', (a) => inv(a)],
    ['qr', 300, 'geqrf', (a) => qr(a)],
  ] as const satisfies readonly (readonly [string, number, string, Call])[];

  it.each(FACTORS)(
    '%s of 200 matrices of order %i is enqueued while the stream is busy',
    async (_, n, name, call) => {
      const [a, b] = operands(n, 200);
      const before = live();
      release(await call(a, b));
      await gpu.synchronize();
      fake('KERNEL_US', 3e6);
      await spin(gpu.defaultStream, 3000);
      fake('KERNEL_US', undefined);
      const native = nativeStream(gpu.defaultStream);
      using spun = native.device.createEvent();
      native.record(spun);
      const lines = await callsOf(async () => {
        release(await call(a, b));
        expect(spun.query()).toBe(false);
        await gpu.synchronize();
      });
      // once for each stream: captured, and launched again for each matrix
      expect(lines.filter((line) => line.startsWith(`${name} `))).toHaveLength(8);
      expect(live()).toBe(before);
      a.dispose();
      b.dispose();
    },
  );

  it.each(FACTORS)(
    '%s (order %i) that the library refuses while the stream is busy throws its error, and the next call works',
    async (_, n, name, call) => {
      const [a, b] = operands(n, 200);
      const before = live();
      release(await call(a, b));
      await gpu.synchronize();
      fake('KERNEL_US', 3e5);
      await spin(gpu.defaultStream, 300);
      fake('KERNEL_US', undefined);
      fake('FAIL_CALL', name);
      fake('FAIL_STATUS', 7);
      fake('FAIL_AFTER', 4);
      await expect(call(a, b)).rejects.toMatchObject({
        name: expect.stringMatching(/^CU(SOLVER|BLAS)_STATUS_/) as string,
      });
      fake('FAIL_CALL', undefined);
      fake('FAIL_AFTER', undefined);
      await gpu.synchronize();
      release(await call(a, b));
      await gpu.synchronize();
      expect(live()).toBe(before);
      a.dispose();
      b.dispose();
    },
  );

  it.each([
    [4000, 1, 0],
    [4100, 1, 1],
    [4100, 3, 3],
    [300, 12, 0],
    [300, 200, 200],
  ])(
    'qr (order %i, %i matrices) launches %i graphs: only what a queue has no room for',
    async (n, count, graphs) => {
      const launched = vi.spyOn(CudaGraphExec.prototype, 'launch');
      const [a, b] = operands(n, count);
      release(await qr(a));
      await gpu.synchronize();
      expect(launched).toHaveBeenCalledTimes(graphs);
      launched.mockRestore();
      a.dispose();
      b.dispose();
    },
  );

  it('solves are captured with memory of their own, on one stream', async () => {
    for (const n of [16, 128]) {
      const [a, b] = operands(n, 12);
      const before = live();
      using stream = gpu.createStream();
      release(await solveLU(a, b, { stream }));
      await gpu.synchronize();
      const native = nativeStream(stream);
      native.beginCapture();
      const results = await solveLU(a, b, { stream });
      const exec = native.endCapture().instantiate();
      exec.launch(native);
      await native.whenDone();
      exec.dispose();
      expect(results.infos.shape).toEqual([12]);
      expect(live()).toBe(before + results.x.storage.bytes + results.infos.storage.bytes);
      release(results);
      a.dispose();
      b.dispose();
    }
  });
});
