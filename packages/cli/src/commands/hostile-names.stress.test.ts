import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy, writeNpz } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mercer, mercerOneByOne, type BinRun } from '../testing/run-bin.test-support.js';

/** What would set the title of a terminal, clear it, colour the rest, turn the direction of text round and forge a line. */
const ESCAPES = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\r\nerror: forged\u007f';
const ROWS = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };

let folder = '';
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-hostile-'));
  await writeNpy(at('x.npy'), ROWS);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** An archive with members of any names: those that the writer takes are overwritten with others of the same length. */
async function archive(file: string, names: readonly string[]): Promise<string> {
  const bytes = names.map((name) => Buffer.from(name));
  const plain = bytes.map((name, i) => String.fromCharCode(97 + i).repeat(name.length));
  await writeNpz(at(file), Object.fromEntries(plain.map((name) => [name, ROWS])));
  const content = await readFile(at(file));
  for (const [i, name] of bytes.entries()) {
    const found = Buffer.from(`${plain[i] ?? ''}.npy`);
    for (let from = content.indexOf(found); from >= 0; from = content.indexOf(found, from)) {
      from += name.copy(content, from);
    }
  }
  await writeFile(at(file), content);
  return at(file);
}

/** Nothing but lines, and colours where they were asked for. */
function expectHarmless({ stdout, stderr }: BinRun, colors = false): void {
  const text = colors ? (stdout + stderr).replace(/\u001b\[\d{1,2}m/g, '') : stdout + stderr;
  expect(text).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/mu);
  expect(text.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u);
  expect(text).not.toMatch(/^error: forged/m);
}

const cdist = (a: string, ...more: string[]): Promise<BinRun> =>
  mercer(['cdist', a, at('x.npy'), '--out', at('o.npy'), ...more]);

describe('names from elsewhere', () => {
  it('of members are shown escaped, wherever they are named', async () => {
    const two = await archive('two.npz', [ESCAPES, 'plain']);
    const runs = await Promise.all([
      cdist(two),
      cdist(two, '--debug'),
      cdist(`${two}:nothing`),
      cdist(`${two}:${ESCAPES}x`),
      mercer(['cdist', two, at('x.npy'), '--out', at('o.npy')], { FORCE_COLOR: '1' }),
    ]);
    for (const [i, run] of runs.entries()) {
      expect(run.status).toBe(i < 2 || i === 4 ? 2 : 1);
      expect(run.stderr).toContain('\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202e');
      expectHarmless(run, i === 4);
    }
  }, 300_000);

  it('of files, options and commands are too, in text and in JSON', async () => {
    const out = at(`o${ESCAPES.replace('/', '')}.npy`);
    const runs = await Promise.all([
      mercer(['cdist', at('x.npy'), at('x.npy'), '--out', out]),
      mercer(['cdist', at('x.npy'), at('x.npy'), '--out', out, '--json']),
      cdist(at(`no${ESCAPES}.npy`), '--debug'),
      cdist(at('x.npy'), `--${ESCAPES}`),
      cdist(at('x.npy'), '--dtype', ESCAPES),
      cdist(at('x.npy'), '--out', `${ESCAPES}.txt`),
      mercer([ESCAPES]),
      mercer(['reduce', '--formula', ESCAPES, '--out', at('o.npy')]),
      mercer(['reduce', '--formula', 'x', '--alias', ESCAPES, '--out', at('o.npy')]),
      mercer(['profile', ESCAPES, '--limits', ESCAPES]),
      mercer(['cache', 'stats', '--dir', at(`dir${ESCAPES}`)]),
    ]);
    for (const run of runs) expectHarmless(run);
    expect(runs.map(({ status }) => status)).toEqual([0, 0, 1, 2, 2, 2, 2, 2, 2, 1, 0]);
    expect(JSON.parse(runs[1].stdout)).toMatchObject({ out });
  }, 300_000);

  it('of element types are, and what stands in headers', async () => {
    const header = Buffer.from(await readFile(at('x.npy')));
    for (const [i, type] of ["'<\u001b[2J'", "'[2J'"].entries()) {
      const text = `{'descr': ${type}, 'fortran_order': False, 'shape': (2, 2), }`;
      header.fill(' ', 10, 127).write(text, 10, 'latin1');
      await writeFile(at('type.npy'), header);
      const run = await cdist(at('type.npy'));
      expect([i, run.status]).toEqual([i, 1]);
      expectHarmless(run);
    }
  }, 300_000);

  it('of members are labels: none is opened, written or taken apart as a path', async () => {
    await mkdir(at('inside'));
    await writeFile(at('secret.npy'), 'no array');
    const names = [
      '../secret',
      '/etc/passwd',
      'x.npz:y',
      'C:\\x',
      'a\\b',
      'CON',
      'a\0b',
      '..',
      ':',
      'a/b/../c',
    ];
    const files = await Promise.all(names.map((name, i) => archive(`inside/m${i}.npz`, [name])));
    const sources = files.flatMap((file, i) => {
      const name = names[i] ?? '';
      return name.includes('\0') ? [file] : [file, `${file}:${name}`];
    });
    const out = (n: number): string => at(`o${n}.npy`);
    const runs = await mercerOneByOne(
      sources.map((source, n) => ['cdist', source, at('x.npy'), '--out', out(n)]),
    );
    for (const [n, run] of runs.entries()) {
      expect(run).toMatchObject({ status: 0, stderr: '' });
      expect((await readNpy(out(n))).shape).toEqual([2, 2]);
    }
    expect(runs).toHaveLength(sources.length);
    expect((await readdir(at('inside'))).sort()).toEqual(names.map((_, i) => `m${i}.npz`).sort());
  }, 300_000);
});
