import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devices } from '@mercer/core';
import { readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeOperands } from '../bench/data-sets.js';
import { plainDistances } from '../bench/plain-distance.js';
import { mercerJson } from '../testing/run-bin.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('the command line on a GPU: no device');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-cli-gpu-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

for (const { id } of gpus) {
  describe(`mercer on ${id}`, () => {
    it('doctor finds the device working', async () => {
      const found = (await mercerJson(['doctor'])) as {
        backends: { id: string; works: boolean }[];
      };
      expect(found.backends.find((backend) => backend.id === id)).toMatchObject({ works: true });
    });

    it('cdist computes distances between files', async () => {
      const { a, b } = makeOperands('normal', 'float32', 70, 90, 33);
      const at = (name: string): string => join(folder, name);
      await writeNpy(at('a.npy'), { data: a, shape: [70, 33] });
      await writeNpy(at('b.npy'), { data: b, shape: [90, 33] });
      const args = ['cdist', at('a.npy'), at('b.npy'), '--p', '1.3', '--device', id];
      expect(await mercerJson([...args, '--out', at('d.npy')])).toMatchObject({ device: id });
      const { data } = await readNpy(at('d.npy'));
      plainDistances(a, b, 33, 1.3).forEach((want, i) => {
        expect(Math.abs(Number(data[i]) - want)).toBeLessThanOrEqual(1e-5 * want);
      });
    });

    it('kernel and weighted-differences compute what a CPU computes', async () => {
      const { a, b } = makeOperands('normal', 'float32', 70, 90, 33);
      const at = (name: string): string => join(folder, name);
      await writeNpy(at('x.npy'), { data: a, shape: [70, 33] });
      await writeNpy(at('y.npy'), { data: b.subarray(0, 70 * 33), shape: [70, 33] });
      const kernel = ['kernel', at('x.npy'), '--inner-operator', 'diff', '--inner-power', 'square'];
      const gaussian = [...kernel, '--kernel', 'gaussian', '--bandwidth', '5,7'];
      // (K, M) = (N, M) = (70, 33), (N, K) = (70, 70), (O, K) = (70, 70)
      const square = ['kernel', at('x.npy'), at('y.npy'), '--inner-operator', 'dot'];
      const files = ['x.npy', 's.npy', 's.npy', 'y.npy'].map(at);
      await mercerJson([...square, '--inner-power', 'none', '--device', id, '--out', at('s.npy')]);
      const calls = [
        ['k', gaussian],
        ['g', ['weighted-differences', ...files, '--p', '1.3']],
      ] as const;
      const compare = async ([name, args]: (typeof calls)[number]): Promise<void> => {
        const [own, cpu] = [at(`${name}-gpu.npy`), at(`${name}-cpu.npy`)];
        const [report] = await Promise.all([
          mercerJson([...args, '--device', id, '--out', own]),
          mercerJson([...args, '--device', 'cpu', '--out', cpu]),
        ]);
        expect(report).toMatchObject({ device: id });
        const [got, want] = [await readNpy(own), await readNpy(cpu)];
        expect(got.shape).toEqual(want.shape);
        let largest = 0;
        want.data.forEach((value) => (largest = Math.max(largest, Math.abs(Number(value)))));
        want.data.forEach((value, i) => {
          const error = Math.abs(Number(got.data[i]) - Number(value));
          expect(error).toBeLessThanOrEqual(3e-5 * largest);
        });
      };
      await Promise.all(calls.map(compare));
    });

    it('bench kermac gives times, errors and floors for every operation', async () => {
      const axes = ['--m', '500', '--n', '400', '--k', '64', '--batch', '1'];
      const args = ['bench', 'kermac', '--device', id, ...axes, '--no-peers'];
      const report = (await mercerJson([...args, '--no-compile-times'])) as {
        cells: {
          ms: { median: number };
          floor?: object;
          errors: Record<string, { max: number }>;
        }[];
      };
      expect(report.cells.length).toBe(10);
      for (const { ms, floor, errors } of report.cells) {
        expect(ms.median).toBeGreaterThan(0);
        expect(floor).toBeDefined();
        for (const { max } of Object.values(errors)) expect(max).toBeLessThan(1000);
      }
    });

    it('bench solvers brings solves to their residuals, with and without preconditioners', async () => {
      const which = ['--n', '3000', '--dtype', 'float32,float64', '--ranks', '150'];
      const report = (await mercerJson([
        ...['bench', 'solvers', '--device', id, ...which, '--no-peers', '--brief'],
      ])) as {
        cells: {
          dtype: string;
          iterative: { converged: boolean; residual: number; iterations: number };
          floor: { kind: string; ms: number };
        }[];
      };
      expect(report.cells.length).toBe(8);
      for (const { dtype, iterative, floor } of report.cells) {
        expect(iterative.converged).toBe(true);
        // what a sum in another order may add to a residual at its tolerance
        expect(iterative.residual).toBeLessThan(dtype === 'float32' ? 1.1e-4 : 1e-8 * (1 + 1e-6));
        expect(floor).toMatchObject({ kind: 'products' });
        expect(floor.ms).toBeGreaterThan(0);
      }
      const counts = report.cells.map(({ iterative }) => iterative.iterations);
      for (const at of [0, 4]) {
        expect(Math.max(...counts.slice(at + 1, at + 4))).toBeLessThan((counts[at] ?? NaN) / 2);
      }
    });

    it('reduce computes a formula of files', async () => {
      const { a, b } = makeOperands('normal', 'float32', 300, 500, 3);
      const at = (name: string): string => join(folder, name);
      await writeNpy(at('rx.npy'), { data: a, shape: [300, 3] });
      await writeNpy(at('ry.npy'), { data: b, shape: [500, 3] });
      const inputs = ['--alias', 'x=Vi(3)', '--alias', 'y=Vj(3)', '--axis', '1', '--device', id];
      const files = ['--arg', `x=${at('rx.npy')}`, '--arg', `y=${at('ry.npy')}`];
      const sum = ['reduce', '--formula', 'Exp(-SqDist(x,y))', ...inputs, ...files];
      const least = ['reduce', '--formula', 'SqDist(x,y)', '--reduction', 'Min_ArgMin', ...inputs];
      const outs = ['--out', at('min.npy'), '--out-indices', at('rows.npy')];
      const [report] = await Promise.all([
        mercerJson([...sum, '--out', at('sums.npy')]),
        mercerJson([...least, ...files, ...outs]),
      ]);
      expect(report).toMatchObject({ device: id });
      const squares = plainDistances(a, b, 3, 2).map((distance) => distance ** 2);
      const [sums, min, rows] = await Promise.all(
        ['sums.npy', 'min.npy', 'rows.npy'].map((name) => readNpy(at(name))),
      );
      for (let i = 0; i < 300; i++) {
        const row = squares.slice(500 * i, 500 * (i + 1));
        const total = row.reduce((so, square) => so + Math.exp(-square), 0);
        // 500 terms of one sign, each within (4 + 2 s) u.
        expect(Math.abs(Number(sums?.data[i]) - total)).toBeLessThanOrEqual(1e-5 * total);
        const found = row[Number(rows?.data[i])] ?? NaN;
        const smallest = Math.min(...row);
        expect(found - smallest).toBeLessThanOrEqual(1e-6 * smallest);
        expect(Math.abs(Number(min?.data[i]) - smallest)).toBeLessThanOrEqual(1e-6 * smallest);
      }
    });

    it('solve and eigh compute on the device', async () => {
      const at = (name: string): string => join(folder, name);
      await writeNpy(at('a.npy'), { data: Float64Array.of(4, 2, 2, 3), shape: [2, 2] });
      await writeNpy(at('r.npy'), { data: Float64Array.of(10, 9), shape: [2, 1] });
      for (const method of ['cholesky', 'lu', 'qr']) {
        const args = ['solve', at('a.npy'), at('r.npy'), '--method', method, '--device', id];
        expect(await mercerJson([...args, '--out', at('x.npy')])).toMatchObject({ device: id });
        const { data } = await readNpy(at('x.npy'));
        expect(Number(data[0])).toBeCloseTo(1.5, 12);
        expect(Number(data[1])).toBeCloseTo(2, 12);
      }
      const outs = ['--values', at('w.npy'), '--vectors', at('v.npy')];
      await mercerJson(['eigh', at('a.npy'), ...outs, '--device', id]);
      const { data: values } = await readNpy(at('w.npy'));
      // the roots of w^2 - 7 w + 8
      expect(Number(values[0])).toBeCloseTo((7 - Math.sqrt(17)) / 2, 12);
      expect(Number(values[1])).toBeCloseTo((7 + Math.sqrt(17)) / 2, 12);
    });

    it('cache warm compiles descriptors in parallel', async () => {
      const store = { MERCER_CACHE_DIR: join(folder, 'store'), MERCER_CACHE: 'rw' };
      const args = ['cache', 'warm', '--descriptors', 'laplace,gaussian', '--device', id];
      const { kernels } = (await mercerJson(args, store)) as { kernels: number };
      expect(kernels).toBeGreaterThan(2);
      expect((await mercerJson(['cache', 'list'], store)) as unknown[]).toHaveLength(kernels);
    });

    it('demo digits classifies as it does on a CPU', async () => {
      const out = join(folder, 'report.html');
      const args = ['demo', 'digits', '--device', id, '--p', '2', '--out', out];
      const { runs, ridge } = (await mercerJson(args)) as Record<
        'runs' | 'ridge',
        { device: string; solvedOn: string; accuracy: number }[]
      >;
      expect(runs.map(({ device }) => device)).toEqual([id]);
      // 1899 of 2004 on a CPU; distances that differ in the last bit may swap two neighbours.
      expect(Math.abs((runs[0]?.accuracy ?? 0) - 1899 / 2004)).toBeLessThan(0.002);
      // Kernels and linear algebra of the GPU; 1939 of 2004 on a CPU.
      expect(ridge).toHaveLength(1);
      for (const { device, solvedOn, accuracy } of ridge) {
        expect([device, solvedOn]).toEqual([id, id]);
        expect(Math.abs(accuracy - 1939 / 2004)).toBeLessThan(0.005);
      }
      expect(await readFile(out, 'utf8')).toContain(`on ${id}`);
    });

    it('bench limits and bench cdist give rates, floors and shares', async () => {
      const grid = [
        '--m',
        '1000',
        '--n',
        '1000',
        '--k',
        '64,1024',
        '--batch',
        '1',
        '--p',
        '1,1.3,2,inf',
      ];
      const report = (await mercerJson([
        'bench',
        'cdist',
        '--device',
        id,
        ...grid,
        '--no-peers',
      ])) as {
        device: { driver?: string };
        limits: { limits: { limit: string; pairsPerSecond?: number; bytesPerSecond?: number }[] };
        cells: {
          ms: { median: number };
          floor?: { ms: number };
          shareOfFloor?: number;
          errors: Record<string, { max: number }>;
        }[];
      };
      expect(report.device.driver).toMatch(/^\d+/);
      for (const { limit, pairsPerSecond, bytesPerSecond } of report.limits.limits) {
        if (limit === 'copy') expect(bytesPerSecond).toBeGreaterThan(1e10);
        else if (limit !== 'launch') expect(pairsPerSecond).toBeGreaterThan(1e9);
      }
      expect(report.cells.length).toBe(8);
      for (const { ms, floor, shareOfFloor, errors } of report.cells) {
        expect(ms.median).toBeGreaterThan(0);
        expect(shareOfFloor).toBeCloseTo((floor?.ms ?? NaN) / ms.median, 9);
        // A share above 1 by more than the noise of the limit would mean a floor that is none.
        expect(shareOfFloor).toBeLessThan(1.15);
        for (const { max } of Object.values(errors)) expect(max).toBeLessThan(1000);
      }
    });

    it('profile measures with events and puts shares beside the limits', async () => {
      const script = `
        import { cdist, tensor } from '@mercer/core';
        const a = await tensor(new Float32Array(2048 * 256).fill(1), { shape: [2048, 256], device: '${id}' });
        for (let i = 0; i < 5; i++) await (await cdist(a, a, { p: 2 })).ready();
      `;
      const program = ['node', '--input-type=module', '-e', script];
      const result = (await mercerJson(['profile', ...program])) as {
        kernels: { device: string; calls: number; totalMs: number; shareOfIssue?: number }[];
      };
      const kernel = result.kernels.find(({ device, calls }) => device === id && calls % 5 === 0);
      expect(kernel?.totalMs).toBeGreaterThan(0);
      expect(kernel?.shareOfIssue).toBeGreaterThan(0);
      expect(kernel?.shareOfIssue).toBeLessThan(1.15);
    });
  });
}
