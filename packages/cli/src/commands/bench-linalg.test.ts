import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BenchReport } from '../bench/bench-report.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-linalg-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer bench linalg', () => {
  it('times every operation in both dtypes with residuals and floors, and draws it', async () => {
    const [plot, out] = [join(folder, 'plot.svg'), join(folder, 'report.json')];
    const args = ['bench', 'linalg', '--n', '24,9', '--batch', '3', '--no-peers', '--brief'];
    const report = (await mercerJson([...args, '--plot', plot, '--out', out])) as BenchReport;
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'linalg', skipped: [] });
    expect(report.device.id).toBe('cpu');
    expect(report.errorUnit).toMatch(/n eps norm.*less than 30/);
    expect(report).not.toHaveProperty('callOverhead');
    const names = ['solveCholesky', 'solveLU', 'eigh', 'svd', 'matmul'];
    expect(Object.keys(report.operations).sort()).toEqual([...names].sort());
    expect(report.cells.length).toBe(names.length * 2 * 2);
    for (const cell of report.cells) {
      const { operation, ms, errors, floor, plan, batch } = cell;
      expect(batch).toBe(3);
      expect(cell).not.toHaveProperty('p');
      expect('rightHandSides' in cell ? cell.rightHandSides : undefined).toBe(
        operation.startsWith('solve') ? 16 : undefined,
      );
      expect(ms.p10).toBeGreaterThan(0);
      expect(ms.p90).toBeGreaterThanOrEqual(ms.median);
      expect(plan).toMatch(/(potrs|getrs|syevd|gesdd|gemm) of \w/);
      expect(floor?.ms).toBeGreaterThan(0);
      expect(errors.normal).toMatchObject({ count: 3 });
      expect(errors.normal?.max).toBeGreaterThan(0);
      expect(errors.normal?.max).toBeLessThan(30);
    }
    expect((await readFile(plot, 'utf8')).match(/<circle/g)?.length).toBeGreaterThanOrEqual(20);
  });

  it('prints the residual and its limit for the operations and dtypes that are asked for', async () => {
    const axes = ['--n', '8', '--dtype', 'float64', '--operations', 'solveLU,eigh'];
    const run = await mercer([
      'bench',
      'linalg',
      ...axes,
      '--no-peers',
      '--device',
      'cpu',
      '--brief',
    ]);
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/solveLU float64 8 x 8/);
    expect(run.stdout).toMatch(/eigh float64 8 x 8/);
    expect(run.stdout).not.toMatch(/float32 8|svd|WRONG/);
    expect(run.stdout).toMatch(/Residuals are in units of n eps norm/);
  });
});
