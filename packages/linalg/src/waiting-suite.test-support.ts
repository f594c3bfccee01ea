import { tensor, type Device } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { describe, expect, it } from 'vitest';
import { eigh } from './eigh.js';
import {
  definite,
  dense,
  general,
  randomMatrix,
  scaledResidual,
  THRESHOLD,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { qr } from './qr.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { spin } from './spin.test-support.js';

const SPIN_MS = 400;

/** Indefinite for Cholesky and singular for LU. */
const bad = (n: number): Dense => dense(n, n, (i, j) => (i === j && i !== n - 1 ? 1 : 0));

/** Ninety-ninth hundredth of how late a timer of 10 ms is while the work goes on. */
async function lateness(work: () => Promise<unknown>): Promise<number> {
  const late: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    late.push(now - last - 10);
    last = now;
  }, 10);
  const end = performance.now() + 1500;
  while (performance.now() < end) await work();
  clearInterval(timer);
  late.sort((x, y) => x - y);
  expect(late.length).toBeGreaterThan(20);
  return late[Math.floor(late.length * 0.99)] ?? NaN;
}

/** What the host has to wait for, and what not. */
export function waitingSuite(gpu: Device): void {
  const subjects = [
    ['solveCholesky', solveCholesky, definite, 1030, 60],
    ['solveLU', solveLU, general, 520, 200],
  ] as const;

  describe.each(subjects)('%s on a GPU', (_, solve, make, n, count) => {
    it.each([32, 200])(
      'returns behind a stream that is busy, also when a factor fails (order %i)',
      async (n) => {
        const a = await toTensor([make(n, 1), bad(n), make(n, 2), make(n, 3)], 'float64');
        const b = await toTensor(randomMatrix(n, 2, 4), 'float64');
        await (await solve(a, b)).x.ready();
        const stream = gpu.defaultStream;
        await spin(stream, SPIN_MS);
        const start = performance.now();
        const { x, infos } = await solve(a, b);
        expect(performance.now() - start).toBeLessThan(SPIN_MS / 2);
        expect(nativeStream(stream).query()).toBe(false);
        expect(await infos.toNested()).toEqual([0, n, 0, 0]);
        const [first] = await toDense(x);
        const residual = scaledResidual(make(n, 1), first!, randomMatrix(n, 2, 4), 'float64');
        expect(residual).toBeLessThan(THRESHOLD);
      },
    );

    it(`returns behind a stream that is busy, with ${count} large systems`, async () => {
      const four = [1, 2, 3, 4].map((seed) => make(n, seed));
      const failing = count - 7;
      const matrices = Array.from({ length: count }, (__, z) =>
        z === failing ? bad(n) : four[z % 4]!,
      );
      const a = await toTensor(matrices, 'float32');
      const sides = randomMatrix(n, 2, 4);
      const b = await toTensor(sides, 'float32');
      await (await solve(a, b)).x.ready();
      const native = nativeStream(gpu.defaultStream);
      await spin(gpu.defaultStream, 3 * SPIN_MS);
      using spun = native.device.createEvent();
      native.record(spun);
      const { x, infos } = await solve(a, b);
      expect(spun.query()).toBe(false);
      const codes = await infos.toNested<number[]>();
      expect(codes).toEqual(matrices.map((__, z) => (z === failing ? n : 0)));
      const solutions = await toDense(x);
      for (const z of [0, 1, 2, 3, 45, count - 4, count - 1]) {
        const residual = scaledResidual(matrices[z]!, solutions[z]!, sides, 'float32');
        expect(residual).toBeLessThan(THRESHOLD);
      }
      expect([...solutions[failing]!.data].every(Number.isNaN)).toBe(true);
    });

    it.each([32, 200])(
      'can be captured in a graph, also when a factor fails (order %i)',
      async (n) => {
        using stream = gpu.createStream();
        const a = await toTensor([make(n, 1), bad(n)], 'float32');
        const b = await toTensor(randomMatrix(n, 2, 4), 'float32');
        await (await solve(a, b, { stream })).x.ready();
        const native = nativeStream(stream);
        native.beginCapture();
        const { x, infos } = await solve(a, b, { stream });
        const exec = native.endCapture().instantiate();
        for (const seed of [5, 6]) {
          const sides = randomMatrix(n, 2, seed);
          using other = await toTensor(sides, 'float32');
          await b.copyFrom(other, { stream });
          exec.launch(native);
          await native.whenDone();
          expect(await infos.toNested()).toEqual([0, n]);
          const [first, second] = await toDense(x);
          expect([...second!.data].every(Number.isNaN)).toBe(true);
          expect(scaledResidual(make(n, 1), first!, sides, 'float32')).toBeLessThan(THRESHOLD);
        }
        exec.dispose();
      },
    );
  });

  it('qr of one matrix whose launches fill a queue returns behind a stream that is busy', async () => {
    const n = 8192;
    const data = Float32Array.from({ length: n * n }, (_, i) =>
      Math.fround(((i * 7919) % 8191) / n),
    );
    const a = await tensor(data, { shape: [n, n], device: gpu });
    await (await qr(a)).r.ready();
    const native = nativeStream(gpu.defaultStream);
    await spin(gpu.defaultStream, 3 * SPIN_MS);
    using spun = native.device.createEvent();
    native.record(spun);
    const { q, r } = await qr(a);
    expect(spun.query()).toBe(false);
    // a = q r, seen in its first column, where r has one entry
    const corner = await r.slice([0, 1], [0, 1]).item();
    const column = (await q.slice(null, [0, 1]).toTypedArray()) as Float32Array;
    column.forEach((value, i) => {
      expect(Math.abs(value * corner - data[i * n]!)).toBeLessThan(1e-4);
    });
  });

  describe('eigh on a GPU', () => {
    it.each([
      [1024, 4],
      [1500, 2],
    ])('leaves the event loop free (order %i, %i matrices)', async (n, count) => {
      const matrix = dense(n, n, (i, j) => ((i * 7 + j * 7) % 31) / 31 + (i === j ? i : 0));
      const a = await toTensor(Array<Dense>(count).fill(matrix), 'float32');
      await eigh(a);
      const late = await lateness(async () => {
        const { values } = await eigh(a);
        await values.ready();
        values.dispose();
      });
      expect(late).toBeLessThan(50);
    });
  });

  it('a large solve on a GPU leaves the event loop free while it is enqueued', async () => {
    const n = 2048;
    const matrix = dense(n, n, (i, j) => (i === j ? n : ((i + j) % 13) / 13));
    const a = await toTensor(Array<Dense>(6).fill(matrix), 'float32');
    const b = await toTensor(randomMatrix(n, 1, 1), 'float32');
    const { x } = await solveLU(a, b);
    expect(
      scaledResidual(matrix, (await toDense(x))[5]!, randomMatrix(n, 1, 1), 'float32'),
    ).toBeLessThan(THRESHOLD);
    const late = await lateness(async () => {
      const solution = await solveLU(a, b);
      await solution.x.ready();
      solution.x.dispose();
    });
    expect(late).toBeLessThan(50);
  });
}
