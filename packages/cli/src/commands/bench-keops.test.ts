import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BenchReport, Measurement } from '../bench/bench-report.js';
import { REDUCTION_NAMES, SOLVER_NAMES, type ReductionCell } from '../bench/cells.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-keops-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const quiet = ['--no-peers', '--device', 'cpu', '--brief'];

describe('mercer bench keops', () => {
  it('times every reduction with errors and floors, and draws it', async () => {
    const [plot, out] = [join(folder, 'plot.svg'), join(folder, 'report.json')];
    const args = ['bench', 'keops', '--n', '60', '--data', 'normal,close', ...quiet];
    const report = (await mercerJson([...args, '--plot', plot, '--out', out])) as Omit<
      BenchReport,
      'cells'
    > & { readonly cells: readonly (ReductionCell & Measurement)[] };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'keops', skipped: [] });
    expect(report.errorUnit).toMatch(/rounding/);
    expect(report).not.toHaveProperty('callOverhead');
    expect(Object.keys(report.operations).sort()).toEqual(
      [...REDUCTION_NAMES, ...SOLVER_NAMES].sort(),
    );
    expect(report.cells.length).toBe(REDUCTION_NAMES.length + SOLVER_NAMES.length);
    const byHand = report.limits.limits.find(({ limit }) => limit === 'cpu-fp32-gaussian-sum');
    expect(byHand?.pairsPerSecond).toBeGreaterThan(1e6);
    for (const cell of report.cells.filter((one) => REDUCTION_NAMES.includes(one.operation))) {
      const { operation, ms, errors, plan, floor, m, n, d, k } = cell;
      // the one that is written by hand too
      if (operation !== 'gaussianSum') expect(cell).not.toHaveProperty('shareOfHandWritten');
      else {
        expect(cell.handWrittenMs?.p10).toBeGreaterThan(0);
        expect(cell.shareOfHandWritten).toBeCloseTo(
          (cell.handWrittenMs?.median ?? 0) / ms.median,
          9,
        );
      }
      expect([m, n, k]).toEqual([
        60,
        operation.startsWith('kMeans') ? 8 : 60,
        operation === 'nearest' ? 10 : undefined,
      ]);
      expect(d).toBe(3);
      expect(ms.p10).toBeGreaterThan(0);
      expect(ms.p90).toBeGreaterThanOrEqual(ms.median);
      expect(plan).toMatch(/map-reduce float32/);
      expect(floor?.ms).toBeGreaterThan(0);
      expect(Object.keys(errors)).toEqual(['normal', 'close']);
      for (const { max, count } of Object.values(errors)) {
        expect(count).toBe(operation === 'kMeans' ? 48 + 8 : 48);
        expect(max).toBeLessThan(100);
      }
    }
    const svg = await readFile(plot, 'utf8');
    expect(svg).toContain('keops on');
    expect(svg).toContain('points');
    expect(svg).toContain('nearest D = 3');
    expect(svg.match(/<circle/g)?.length).toBeGreaterThanOrEqual(report.cells.length);
  });

  it('prints curves over the points in the dtype that is asked for', async () => {
    const which = ['--n', '30,90', '--operations', 'gaussianSum,nearest', '--data', 'uniform'];
    const curves = ['bench', 'keops', '--curves', ...which, ...quiet];
    const run = await mercer([...curves, '--dtype', 'float64']);
    expect(run.status).toBe(0);
    for (const line of [
      /gaussianSum float64 30 x 30, D = 3/,
      /nearest float64 90 x 90, D = 100, k = 10/,
    ]) {
      expect(run.stdout).toMatch(line);
    }
    expect(run.stdout).not.toMatch(/laplacianSum|float32 \d/);
    expect(run.stdout).not.toMatch(/ by hand {2}/); // float32 alone is written by hand
    const single = await mercer([
      'bench',
      'keops',
      '--n',
      '30',
      '--operations',
      'gaussianSum',
      ...quiet,
    ]);
    expect(single.stdout).toMatch(
      /share +by hand[^]*gaussianSum 30 x 30, D = 3 .* [\d.]+% +[\d.]+% /,
    );
  });

  it('refuses a dimension for curves, which have their own, and unknown operations', async () => {
    const both = await mercer(['bench', 'keops', '--curves', '--d', '7', ...quiet]);
    expect(both.status).toBe(2);
    expect(both.stderr).toMatch(/--d is given.*Leave out/s);
    const unknown = await mercer(['bench', 'keops', '--operations', 'cdist', ...quiet]);
    expect(unknown.status).toBe(2);
    expect(unknown.stderr).toMatch(/none of gaussianSum/);
  });
});
