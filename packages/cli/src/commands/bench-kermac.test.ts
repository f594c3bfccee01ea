import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BenchReport, Measurement } from '../bench/bench-report.js';
import type { KernelCell } from '../bench/cells.js';
import { mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-kermac-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer bench kermac', () => {
  it('times every operation with errors and floors, and draws it', async () => {
    const [plot, out] = [join(folder, 'plot.svg'), join(folder, 'report.json')];
    const axes = ['--m', '30', '--n', '20', '--k', '40', '--batch', '2', '--data', 'normal,close'];
    const quiet = ['--no-peers', '--no-compile-times', '--device', 'cpu'];
    const args = ['bench', 'kermac', ...axes, ...quiet, '--brief', '--plot', plot, '--out', out];
    const report = (await mercerJson(args)) as Omit<BenchReport, 'cells'> & {
      readonly cells: readonly (KernelCell & Measurement)[];
    };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'kermac', skipped: [] });
    expect(report.descriptors).toBeUndefined();
    const cells = report.cells.map(({ operation, p }) => `${operation} ${p}`);
    expect(cells.sort()).toEqual(
      [
        ...['cdist 1', 'cdist 1.3', 'cdist 2', 'minkowski 1.3'],
        ...['laplace 1', 'exponential 2', 'gaussian 2'],
        ...['weightedDifferences 1', 'weightedDifferences 1.3', 'weightedDifferences 2'],
      ].sort(),
    );
    expect(Object.keys(report.operations).sort()).toEqual(
      ['cdist', 'weightedDifferences', 'gaussian', 'laplace', 'exponential', 'minkowski'].sort(),
    );
    for (const { ms, errors, plan, floor, p } of report.cells) {
      expect(ms.p10).toBeGreaterThan(0);
      expect(ms.p90).toBeGreaterThanOrEqual(ms.median);
      expect(plan).toMatch(/cpu/);
      expect(Object.keys(errors)).toEqual(['normal', 'close']);
      for (const { max, count } of Object.values(errors)) {
        expect(max).toBeLessThan(100);
        expect(count).toBeGreaterThan(90);
      }
      if (p !== 1.3) expect(floor?.ms).toBeGreaterThan(0);
    }
    const svg = await readFile(plot, 'utf8');
    expect(svg).toContain('kermac on');
    expect(svg.match(/<circle/g)?.length).toBeGreaterThanOrEqual(10);
  });
});
