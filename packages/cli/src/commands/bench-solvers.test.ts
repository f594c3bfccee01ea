import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BenchReport } from '../bench/bench-report.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-solvers-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const quiet = [
  'bench',
  'solvers',
  '--no-peers',
  '--device',
  'cpu',
  '--max-seconds',
  '0.1',
  '--brief',
];

describe('mercer bench solvers', () => {
  it('times solves with their iterations and true residuals, and draws them', async () => {
    const [plot, out] = [join(folder, 'plot.svg'), join(folder, 'report.json')];
    const args = [...quiet, '--n', '150', '--dtype', 'float64', '--ranks', '40,900'];
    const report = (await mercerJson([...args, '--plot', plot, '--out', out])) as BenchReport;
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'solvers', skipped: [] });
    expect(report.errorUnit).toMatch(/tolerance/);
    expect(report.operations['solve']).toMatch(/\(K \+ 0\.1 I\) x = b .*uniform/);
    // no rank of 900 in 150 points
    expect(report.cells.map(({ plan }) => plan)).toEqual([
      ...['cg', 'cg, pivotedCholesky of rank 40', 'cg, nystrom of rank 40'],
      'cg, nystromColumns of rank 40',
    ]);
    const [plain = NaN, ...others] = report.cells.map(({ errors, iterative, floor }) => {
      expect(iterative).toMatchObject({ converged: true });
      expect(errors.uniform?.max).toBeLessThanOrEqual(1.0001);
      expect(iterative?.residual).toBeCloseTo((errors.uniform?.max ?? NaN) * 1e-8, 14);
      expect(floor?.kind).toBe('products');
      return iterative?.iterations ?? NaN;
    });
    for (const count of others) expect(count).toBeLessThan(plain / 2);
    expect(await readFile(plot, 'utf8')).toContain('solve D = 3 float64, nystrom 40');
  });

  it('prints what an iteration takes', async () => {
    const run = await mercer([
      ...[...quiet, '--n', '50', '--preconditioners', 'none,nystrom'],
      ...['--ranks', '9', '--operations', 'inverseKernel'],
    ]);
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/an iteration +residual +a product +preconditioner/);
    expect(run.stdout).toMatch(/inverseKernel float32 50, D = 3 +mercer .* \d\.\de-\d/);
    expect(run.stdout).toMatch(/inverseKernel float32 50, D = 3, nystrom 9 /);
    expect(run.stdout).not.toMatch(/pivotedCholesky|WRONG/);
  });

  it('refuses what is no preconditioner and no rank', async () => {
    const unknown = await mercer([...quiet, '--preconditioners', 'jacobi']);
    expect(unknown.status).toBe(2);
    expect(unknown.stderr).toMatch(
      /'jacobi' is none of none, pivotedCholesky, nystrom, nystromColumns/,
    );
    const none = await mercer([...quiet, '--ranks', '0']);
    expect(none.status).toBe(2);
    expect(none.stderr).toMatch(/at least 1/);
  });
});
