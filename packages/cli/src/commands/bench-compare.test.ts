import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareReports } from '../bench/compare/compare-reports.js';
import { measuredRows, type MeasuredReport } from '../bench/compare/measured-rows.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

const spread = (median: number): object => ({ median, p10: median, p90: median, count: 5 });

/** A reduction's cell of `mercer bench keops`. */
const cell = (m: number, ms: number, floor?: number): object => ({
  operation: 'gaussianSum',
  dtype: 'float32',
  m,
  n: m,
  d: 3,
  batch: 1,
  ms: spread(ms),
  plan: '',
  errors: {},
  ...(floor !== undefined && { floor: { kind: 'issue', ms: floor }, shareOfFloor: floor / ms }),
});

const peer = (m: number, name: string, ms?: number): object => {
  const { operation, dtype, n, d, batch } = cell(m, 1) as Record<string, unknown>;
  return {
    operation,
    dtype,
    m,
    n,
    d,
    batch,
    peer: name,
    ...(ms !== undefined && { ms: spread(ms) }),
  };
};

const report = (cells: readonly object[], peers: readonly object[] = []): string =>
  JSON.stringify({ schema: 1, suite: 'keops', cells, peers: { found: true, cells: peers } });

const read = (text: string): MeasuredReport => measuredRows('a.json', text);

describe('compareReports', () => {
  it('names rows that lost more than a tenth of their ratio to the floor of their own run, whatever the times', () => {
    const before = [cell(1, 10, 8), cell(2, 10, 8), cell(3, 10, 8), cell(4, 10, 8)];
    // Half as quick a machine: the ratio is the same; nearly a tenth less; more than that; a better one.
    const after = [cell(1, 20, 16), cell(2, 10, 7.21), cell(3, 10, 7.19), cell(4, 5, 8)];
    const found = compareReports(read(report(before)), read(report(after)));
    expect(found).toEqual({
      compared: 4,
      fell: [
        {
          name: 'gaussianSum 3 x 3, D = 3',
          against: 'floor',
          before: 0.8,
          after: expect.closeTo(0.719, 9) as number,
          timeBefore: 10,
          timeAfter: 10,
        },
      ],
      without: [],
      onlyBefore: [],
      onlyAfter: [],
    });
  });

  it('compares with the quickest peer of both runs where a floor is missing, and says what it could not compare', () => {
    const before = report(
      [cell(1, 10, 8), cell(2, 10), cell(3, 10), cell(4, 10)],
      [peer(1, 'torch', 30), peer(1, 'keops', 20), peer(2, 'keops', 20), peer(3, 'torch')],
    );
    const after = report(
      [cell(1, 10), cell(2, 10), cell(3, 10), cell(5, 10)],
      [peer(1, 'torch', 26), peer(1, 'jax', 1), peer(2, 'torch', 20), peer(3, 'torch', 4)],
    );
    const found = compareReports(read(before), read(after));
    expect(found).toMatchObject({
      compared: 1,
      fell: [{ name: 'gaussianSum 1 x 1, D = 3', against: 'torch', before: 3, after: 2.6 }],
      without: ['gaussianSum 2 x 2, D = 3', 'gaussianSum 3 x 3, D = 3'],
      onlyBefore: ['gaussianSum 4 x 4, D = 3'],
      onlyAfter: ['gaussianSum 5 x 5, D = 3'],
    });
  });

  it('names those first that lost most, and reads calls and rows in microseconds', () => {
    const calls = (us: number, prepared: number): string =>
      JSON.stringify({
        suite: 'calls',
        calls: [
          { call: 'map', ordinary: { idleUs: spread(us) }, prepared: { idleUs: spread(prepared) } },
        ],
        peers: { calls: [{ call: 'map', peer: 'torch', idleUs: spread(8) }] },
      });
    const found = compareReports(read(calls(4, 2)), read(calls(5, 4)));
    expect(found.fell.map(({ name, before, after }) => [name, before, after])).toEqual([
      ['map, prepared', 4, 2],
      ['map, ordinary', 2, 1.6],
    ]);
    const rows = (us: number): string =>
      JSON.stringify({
        suite: 'optim',
        rows: [
          { operation: 'adam', library: 'mercer', way: 'step', n: 10, us: spread(us), floorUs: 6 },
        ],
      });
    expect(compareReports(read(rows(6)), read(rows(8))).fell).toMatchObject([
      { name: 'adam 10, step', against: 'floor', before: 1, after: 0.75 },
    ]);
  });

  it('refuses runs without a row in common, and files that are none', () => {
    const one = read(report([cell(1, 10, 8)]));
    expect(() => compareReports(one, read(report([cell(2, 10, 8)])))).toThrow(
      /no row in common: one is of keops \(gaussianSum 1 x 1, D = 3, \.\.\.\)/,
    );
    for (const text of ['', 'null', '[]', '{}', '{"suite":"keops","cells":[]}', '{"rows":[{}]}'])
      expect(() => read(text), text).toThrow(/Cannot compare a\.json/);
  });
});

describe('mercer bench compare', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mercer-compare-'));
    await writeFile(join(folder, 'a.json'), report([cell(1, 10, 8), cell(2, 10, 8)]));
    await writeFile(join(folder, 'b.json'), report([cell(1, 10, 8), cell(2, 20, 8)]));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const files = (...names: readonly string[]): string[] => names.map((name) => join(folder, name));

  it('ends with 1 and names the rows, with 0 where none fell, with 2 for wrong usage', async () => {
    const fell = await mercer(['bench', 'compare', ...files('a.json', 'b.json')]);
    expect(fell.status).toBe(1);
    expect(fell.stdout).toMatch(/gaussianSum 2 x 2, D = 3 +floor +0\.800 +0\.400 +50%/);
    expect(fell.stdout).toMatch(/1 of 2 rows lost more than a tenth/);
    expect(fell.stdout).not.toMatch(/1 x 1/);
    const kept = await mercer(['bench', 'compare', ...files('b.json', 'a.json')]);
    expect([kept.status, kept.stdout]).toEqual([0, 'No row of 2 lost more than a tenth.\n']);
    expect((await mercer(['bench', 'compare', ...files('a.json')])).status).toBe(2);
    const missing = await mercer(['bench', 'compare', ...files('a.json', 'c.json')]);
    expect(missing.status).toBe(1);
    expect(missing.stderr).toMatch(/Cannot read .*c\.json/);
  });

  it('gives the same as JSON', async () => {
    expect(await mercerJson(['bench', 'compare', ...files('b.json', 'a.json')])).toMatchObject({
      compared: 2,
      fell: [],
    });
  });
});
