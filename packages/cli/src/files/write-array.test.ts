import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listNpz, readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, mercer, mercerPiped } from '../testing/run-bin.test-support.js';
import type { NamedArray } from './named-array.js';
import { readArray } from './read-array.js';
import { writeArray } from './write-array.js';

let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-write-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Values that formats of text could spoil, by rows. */
const VALUES = [0.1, NaN, 1e-30, -Infinity, Infinity, 123456789, -0.5, 1 / 3];
const MATRIX = {
  dtype: 'float32',
  shape: [4, 2],
  fortranOrder: false,
  data: Float32Array.from(VALUES),
} as const;
const DOUBLES: NamedArray = {
  dtype: 'float64',
  shape: [2, 4],
  fortranOrder: true,
  data: Float64Array.from(VALUES),
  names: ['a', 'b, c', '"d"', 'e\u00e9'],
};

/** Elements in the order of rows. */
function rowsOf({ data, shape, fortranOrder }: NamedArray): number[] {
  const [rows = 0, columns = 1] = shape;
  const place = (row: number, column: number): number =>
    fortranOrder ? column * rows + row : row * columns + column;
  return Array.from({ length: rows * columns }, (_, k) =>
    Number(data[place(Math.floor(k / columns), k % columns)]),
  );
}

const TABLES = ['csv', 'tsv', 'jsonl', 'parquet', 'arrow'];
const FORMATS = ['npy', 'npz', 'safetensors', ...TABLES];

describe('writeArray', () => {
  it.each(FORMATS)('writes .%s as it is read again, to the last bit', async (ending) => {
    const path = at(`matrix.${ending}`);
    await writeArray(path, MATRIX);
    const found = await readArray(path);
    expect(found.shape).toEqual([4, 2]);
    expect(rowsOf({ ...found, data: Float32Array.from(found.data as Float64Array) })).toEqual(
      rowsOf(MATRIX),
    );
    await writeArray(path, DOUBLES);
    const doubles = await readArray(path);
    expect(doubles).toMatchObject({ dtype: 'float64', shape: [2, 4] });
    expect(rowsOf(doubles)).toEqual(rowsOf(DOUBLES));
    if (TABLES.includes(ending)) expect(doubles.names).toEqual(DOUBLES.names);
  });

  it.each(TABLES)('writes whole numbers, and a vector as a column, as .%s', async (ending) => {
    const path = at(`numbers.${ending}`);
    const whole = { shape: [3], fortranOrder: false } as const;
    await writeArray(path, { ...whole, dtype: 'int32', data: Int32Array.of(-7, 0, 2 ** 31 - 1) });
    const found = await readArray(path);
    expect(found.shape).toEqual([3, 1]);
    expect([...found.data]).toEqual([-7, 0, 2 ** 31 - 1]);
    await writeArray(path, {
      ...whole,
      dtype: 'int64',
      data: BigInt64Array.of(1n, -2n, 2n ** 40n),
    });
    expect([...(await readArray(path)).data]).toEqual([1, -2, 2 ** 40]);
  });

  it('writes float32 with as few digits as tell it apart', async () => {
    await writeArray(at('short.csv'), MATRIX);
    expect(await readFile(at('short.csv'), 'utf8')).toBe(
      '0.1,nan\n1e-30,-inf\ninf,123456792\n-0.5,0.33333334\n',
    );
    await writeArray(at('short.jsonl'), MATRIX);
    expect((await readFile(at('short.jsonl'), 'utf8')).split('\n').slice(0, 2)).toEqual([
      '[0.1,null]',
      '[1e-30,-1e999]',
    ]);
  });

  it('writes Parquet in groups of rows', async () => {
    const data = Float64Array.from({ length: 2 ** 20 + 50 }, (_, row) => row);
    const shape = [data.length];
    await writeArray(at('long.parquet'), { dtype: 'float64', shape, fortranOrder: false, data });
    const found = await readArray(at('long.parquet'));
    expect(found.shape).toEqual([data.length, 1]);
    expect(Buffer.compare(Buffer.from(found.data.buffer), Buffer.from(data.buffer))).toBe(0);
  });

  it.each(FORMATS)(
    'tells how far it is while it writes .%s, and stops at a signal',
    async (ending) => {
      const array: NamedArray = {
        dtype: 'float64',
        shape: [2 ** 20, 2],
        fortranOrder: false,
        data: new Float64Array(2 ** 21),
      };
      const shares: number[] = [];
      await writeArray(at(`told.${ending}`), array, {
        onProgress: ({ done, total }) => shares.push(done / total),
      });
      expect(shares.length).toBeGreaterThan(1);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect(shares.at(-1)).toBe(1);
      const given = new AbortController();
      const onProgress = (): void => {
        given.abort(new Error('enough'));
      };
      const path = at(`stopped.${ending}`);
      await expect(writeArray(path, array, { signal: given.signal, onProgress })).rejects.toThrow(
        'enough',
      );
      expect(await readdir(folder)).not.toContain(`stopped.${ending}`);
    },
  );

  it('names members, and turns orders of any rank', async () => {
    const cube = { dtype: 'int32', shape: [2, 3, 2], fortranOrder: true } as const;
    const data = Int32Array.from({ length: 12 }, (_, k) => k);
    await writeArray(at('cube.npz:x'), { ...cube, data });
    expect((await listNpz(at('cube.npz'))).map(({ name }) => name)).toEqual(['x']);
    await writeArray(at('cube.safetensors:x'), { ...cube, data });
    const { data: turned } = await readArray(at('cube.safetensors:x'));
    // element (i, j, k) is i + 2 j + 6 k
    expect([...turned]).toEqual([0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]);
    await expect(readArray(at('cube.safetensors:y'))).rejects.toThrow(/no array "y"/);
    await expect(writeArray(at('cube.csv'), { ...cube, data })).rejects.toThrow(
      /shape \(2, 3, 2\).*Write it as \.npy/,
    );
    await expect(writeArray('-', { ...cube, data })).rejects.toThrow(
      'Cannot write standard output: the result has shape (2, 3, 2)',
    );
    expect(await readdir(folder)).not.toContain('cube.csv');
  });
});

describe('standard input and output', () => {
  it.each(FORMATS)('carry .%s, found by its first bytes', async (ending) => {
    const path = at(`in.${ending}`);
    await writeArray(path, { ...DOUBLES, fortranOrder: false, shape: [4, 2], names: ['x', 'y'] });
    const run = await mercerPiped(['convert', '-', '--out', `-.${ending}`], await readFile(path));
    expect(run.status, run.stderr).toBe(0);
    expect(run.stderr).toMatch(/^standard output: 4 x 2 float64, read/);
    await writeFile(at(`out.${ending}`), run.bytes);
    const found = await readArray(at(`out.${ending}`));
    expect(rowsOf(found)).toEqual(VALUES);
    if (TABLES.includes(ending)) expect(found.names).toEqual(['x', 'y']);
  });

  it('take columns, and write CSV where no format is named', async () => {
    const args = ['cdist', '-:y,x', '-', '--out', '-', '--json'];
    const twice = await mercerPiped(args, Buffer.from(''));
    expect(twice).toMatchObject({ status: 2 });
    expect(twice.stderr).toMatch(/standard input twice/);
    await writeNpy(at('zero.npy'), { data: new Float64Array(2), shape: [1, 2] });
    const rows = Buffer.from('x,name,y\n3,p,4\n0,q,-2\n');
    const run = await mercerPiped(['cdist', '-:y,x', at('zero.npy'), ...args.slice(3)], rows);
    expect(run.bytes.toString()).toBe('5\n2\n');
    expect(JSON.parse(run.stderr)).toMatchObject({ out: '-', shape: [2, 1], device: 'cpu' });
    const empty = await mercerPiped(['convert', '-', '--out', at('none.npy')], Buffer.from(''));
    expect(empty.stderr).toMatch(/Cannot read standard input: it is empty/);
    const noMember = await mercerPiped(
      ['convert', '-:x', '--out', '-'],
      await readFile(at('zero.npy')),
    );
    expect(noMember.stderr).toMatch(/it is a \.npy file, which has no columns/);
  });

  it('refuse columns of what is written, unknown formats and one place twice', async () => {
    const run = async (...args: string[]): Promise<string> => (await mercer(args)).stderr;
    expect(await run('convert', at('zero.npy'), '--out', 'a.csv:x')).toMatch(/Leave ':x' out/);
    expect(await run('convert', at('zero.npy'), '--out', 'a.txt')).toMatch(
      /End the name in .npy, /,
    );
    const eigh = ['eigh', at('zero.npy'), '--values', '-', '--vectors', '-.jsonl'];
    expect(await run(...eigh)).toMatch(/two results to '-\.jsonl'/);
  });
});

describe('large files', () => {
  it('of text are read in pieces: the heap holds a part of the file', async () => {
    const line = '0.123456,1.5,-2.25e-3,4,5,6.789\n';
    await writeFile(at('large.csv'), line.repeat(500_000)); // 16 MB, more than 100 MB as texts of cells
    const run = await new Promise<string>((resolve, reject) => {
      const args = ['--max-old-space-size=48', BIN, 'convert', at('large.csv'), '--out'];
      const child = spawn(process.execPath, [...args, at('large.npy'), '--json']);
      let text = '';
      child.stdout.on('data', (piece: Buffer) => (text += piece.toString()));
      child.on('error', reject);
      child.on('close', () => {
        resolve(text);
      });
    });
    expect(JSON.parse(run)).toMatchObject({ shape: [500_000, 6] });
    const { data } = await readNpy(at('large.npy'));
    expect(data.at(-1)).toBe(6.789);
  });
});
