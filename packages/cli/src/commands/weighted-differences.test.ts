import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cell } from '../bench/cells.js';
import { weightedDifferencesOperation } from '../bench/operations/weighted-differences.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

const cell: Cell = {
  operation: 'weightedDifferences',
  dtype: 'float64',
  p: 2,
  m: 6,
  n: 4,
  o: 3,
  k: 5,
  batch: 2,
};
const { m, n, o = 1, batch } = cell;
const data = weightedDifferencesOperation.makeData('close', cell); // some differences are 0

let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-weighted-differences-'));
  for (const [i, { name, shape }] of weightedDifferencesOperation.operands(cell).entries()) {
    const values = data[i] ?? new Float64Array(0);
    await writeNpy(at(`${name}.npy`), { data: values, shape: [batch, ...shape] });
  }
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const files = (): string[] => ['a', 'b', 'c', 'd'].map((name) => at(`${name}.npy`));

describe('mercer weighted-differences', () => {
  it.each([
    ['1', [1, 1], 1],
    ['0.5,2', [0.5, 2], [0.5, 2]],
  ] as const)('computes the sums with p = %s', async (text, exponents, shown) => {
    const args = ['weighted-differences', ...files(), '--p', text, '--out', at('g.npy')];
    expect(await mercerJson(args)).toMatchObject({
      shape: [batch, o, n, m],
      dtype: 'float64',
      device: 'cpu',
      p: shown,
    });
    const written = await readNpy(at('g.npy'));
    expect(written.shape).toEqual([batch, o, n, m]);
    exponents.forEach((p, entry) => {
      for (let row = 0; row < o * n; row++) {
        for (let column = 0; column < m; column++) {
          const { value, scale } = weightedDifferencesOperation.truth(
            { ...cell, p },
            data,
            entry,
            row,
            column,
          );
          const got = Number(written.data[(entry * o * n + row) * m + column]);
          expect(Math.abs(got - value)).toBeLessThanOrEqual(200 * 2 ** -53 * scale);
        }
      }
    });
  });

  it('prints what it did, and refuses readably without writing', async () => {
    const text = await mercer(['weighted-differences', ...files(), '--out', at('g.npy')]);
    expect(text.stdout).toContain('2 x 3 x 4 x 6 float64 sums, p = 2');
    const [a = '', b = '', c = '', d = ''] = files();
    for (const [args, status, why] of [
      [[a, b, c], 2, /missing required argument 'D'/],
      [[a, b, c, d, '--p', 'two'], 2, /a number, a list/],
      [[a, b, c, d, '--p', '0'], 1, /p /],
      [[b, a, c, d], 1, /SHAPE_MISMATCH/],
    ] as const) {
      const run = await mercer(['weighted-differences', ...args, '--out', at('no.npy')]);
      expect([run.status, run.stdout]).toEqual([status, '']);
      expect(run.stderr).toMatch(why);
    }
    expect(await readdir(folder)).not.toContain('no.npy');
  });
});
