import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TruncatedRow } from '../bench/truncated/measure-truncated.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-truncated-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const ON_CPU = ['bench', 'truncated', '--device', 'cpu', '--points', '3000'];

describe('mercer bench truncated', () => {
  it('counts pairs, times sums, and holds the error that was asked for', async () => {
    const [out, plot] = [join(folder, 'truncated.json'), join(folder, 'truncated.svg')];
    const report = (await mercerJson([
      ...ON_CPU,
      ...['--bandwidths', '0.05,0.2', '--error', '0.05', '--out', out, '--plot', plot],
    ])) as { readonly rows: readonly TruncatedRow[] };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({
      schema: 1,
      suite: 'truncated',
      device: { id: 'cpu' },
      error: 0.05,
    });
    expect(report.rows.map(({ bandwidth }) => bandwidth)).toEqual([0.05, 0.2]);
    for (const { bandwidth, cutoff, ...row } of report.rows) {
      expect(cutoff).toBeCloseTo(bandwidth * Math.sqrt(-2 * Math.log(0.05)), 12);
      expect(row.pairsKept).toBeGreaterThanOrEqual(row.pairsWithin);
      expect(row.pairsKept).toBeLessThanOrEqual(9e6);
      expect(row.error).toBeLessThanOrEqual(0.05);
      expect(row.wholeError).toBeLessThan(1e-6);
      expect(row.ms.median).toBeGreaterThan(0);
      expect(row.rangesMs.count).toBe(3);
    }
    // pairs were left out, and the sums tell
    expect(report.rows[0]?.pairsKept).toBeLessThan(0.7 * 9e6);
    expect(report.rows[0]?.error).toBeGreaterThan(1e-7);
    expect(await readFile(plot, 'utf8')).toMatch(/^<svg .*pairs within the cutoff.*pairs kept/s);
  });

  it('prints a table, and names what is no number', async () => {
    const shown = await mercer([...ON_CPU, '--bandwidths', '0.1']);
    expect(shown.stdout).toMatch(/bandwidth.*cutoff.*pairs kept/);
    const wrong = await mercer([...ON_CPU, '--bandwidths', 'wide']);
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toContain("a number above 0 is needed and it is 'wide'");
  });
});
