import { describe, expect, it } from 'vitest';
import { handWrittenTables, markers, table, writeBlocks } from './blocks.mjs';
import { CLAIMS } from './claims.mjs';
import { PICTURE, speedPicture } from './speed-picture.mjs';
import { speedRows } from './speed.mjs';
import {
  cells,
  count,
  error,
  formatMs,
  measurement,
  pick,
  ratio,
  short,
  time,
} from './measurements.mjs';

const block = (/** @type {string} */ name, /** @type {string} */ body) =>
  `${markers(name).begin}\n\n${body}\n\n${markers(name).end}`;

describe('writeBlocks', () => {
  it('leaves a text alone whose blocks say what is to be said', async () => {
    const text = `before\n\n${block('one', '8.7 ms')}\n\nafter\n`;
    expect(await writeBlocks(text, async () => '8.7 ms\n')).toEqual({
      text,
      names: ['one'],
      stale: [],
    });
  });

  it('writes only what differs, and names it', async () => {
    const text = `${block('one', '9.7 ms')}\n\nby hand\n\n${block('two', '3 ms')}\n`;
    const result = await writeBlocks(text, async (name) => (name === 'one' ? '8.7 ms' : '3 ms'));
    expect(result.stale).toEqual(['one']);
    expect(result.names).toEqual(['one', 'two']);
    expect(result.text).toBe(text.replace('9.7', '8.7'));
  });

  it('refuses a block without an end', async () => {
    await expect(writeBlocks(markers('one').begin, async () => '')).rejects.toThrow(
      "'one' has no end",
    );
  });
});

describe('handWrittenTables', () => {
  const beside = 'Times ([file](bench/results/cpu-keops.json)):\n\n';
  const written = '| work | Mercer |\n| --- | --- |\n| sum | 9.7 ms |';

  it('finds a table below a paragraph that names a measurement', () => {
    expect(handWrittenTables(`${beside}${written}`, ['cpu-keops.json'])).toEqual([
      '| work | Mercer | (cpu-keops.json)',
    ]);
  });

  it('leaves generated tables alone, and those that name no measurement', () => {
    expect(handWrittenTables(`${beside}${block('sums', written)}`, ['cpu-keops.json'])).toEqual([]);
    expect(handWrittenTables(`By hand:\n\n${written}`, ['cpu-keops.json'])).toEqual([]);
  });
});

describe('figures', () => {
  const sum = { operation: 'gaussianSum', dtype: 'float32', m: 10000, d: 3 };

  it('are those of the one cell that is asked for', () => {
    const [cell] = pick('cpu-keops', [sum]);
    if (!cell) throw new Error('no cell');
    const own = measurement('cpu-keops').cells.find(
      (/** @type {any} */ one) =>
        one.operation === 'gaussianSum' && one.dtype === 'float32' && one.m === 10000,
    );
    expect(time(cell)).toBe(`${own.ms.median.toPrecision(3)} ms`);
    expect(ratio(cell, 'pykeops')).toBeGreaterThan(1);
  });

  it('are refused where no cell or several have what is asked for', () => {
    expect(() => pick('cpu-keops', [{ ...sum, d: 4 }])).toThrow('has 0 cells');
    expect(() => pick('cpu-keops', [{ operation: 'gaussianSum' }])).toThrow(
      /has \d+ cells .* one is wanted/,
    );
  });

  it('are left out where a peer could not compute', () => {
    const [cell] = cells('h200-keops').filter(
      ({ operation, m }) => operation === 'gaussianSum' && m === 1e6,
    );
    if (!cell) throw new Error('no cell');
    expect([time(cell, 'torch'), error(cell, 'torch'), ratio(cell, 'torch')]).toEqual([
      '',
      '',
      NaN,
    ]);
  });

  it('are written short', () => {
    expect([0.0719, 17.2, 1.24, 131].map(short)).toEqual(['0.072', '17', '1.2', '131']);
    expect([10000, 3000, 3162, 100].map(count)).toEqual(['1e4', '3e3', '3162', '100']);
  });
});

it('a bar in a cell does not end it', () => {
  expect(table([['|x|', (row) => row]], ['a|b'])).toBe('| \\|x\\| |\n| --- |\n| a\\|b |');
});

it('every claim has a text, under a name of its own in its file', () => {
  const named = CLAIMS.map(({ file, name }) => `${file}: ${name}`);
  expect(new Set(named).size).toBe(named.length);
  for (const claim of CLAIMS) expect(claim.text()).not.toMatch(/undefined|NaN/);
});

it('the picture has the times of the rows that are drawn, in text that can be read at a width of 400', () => {
  const picture = speedPicture();
  const drawn = speedRows().filter((row) => row.drawn);
  expect(PICTURE).toMatch(/\.svg$/);
  expect(drawn.length).toBeGreaterThan(3);
  for (const { work, ms, peer } of drawn) {
    expect(picture).toContain(`>${work}<`);
    for (const time of [ms, ...(peer ? [peer.ms] : [])])
      expect(picture).toContain(`>${formatMs(time)}<`);
  }
  expect(picture).toContain('viewBox="0 0 400 ');
  for (const [, size] of picture.matchAll(/(\d+)px/g)) expect(Number(size)).toBeGreaterThan(11);
});
