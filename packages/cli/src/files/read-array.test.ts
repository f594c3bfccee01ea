import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy } from '@mercer/core/npy';
import { tableFromArrays, tableToIPC } from '@uwdata/flechette';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';
import { LZ4_FEATHER, ZSTD_FEATHER } from '../testing/feather-files.test-support.js';
import { parquetFile, type ParquetColumn } from '../testing/write-parquet.test-support.js';
import { readArray } from './read-array.js';

let folder = '';
const at = (name: string): string => join(folder, name);
const file = async (name: string, content: string | Uint8Array): Promise<string> => {
  await writeFile(at(name), content);
  return at(name);
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-columns-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const COLUMNS: readonly ParquetColumn[] = [
  { name: 'x', type: 'FLOAT', values: [1, 0.5, null] },
  { name: 'y', type: 'FLOAT', values: [-1, 2, 3] },
  { name: 'count', type: 'INT32', values: [7, -8, 9] },
  { name: 'id', type: 'INT64', values: [10n, null, -(2n ** 40n)] },
  { name: 'value', type: 'DOUBLE', values: [0.1, 1e300, -Infinity] },
  { name: 'name', type: 'BYTE_ARRAY', values: ['a', 'b', 'c'] },
];

describe('columns of text', () => {
  const text = '\ufeffa, b,"the, third"\r\n1,-2.5,3e2\r\n\r\n.5,"",nan\r\n-inf,+4,1.\r\n';

  it('are all of a file, or those that are named', async () => {
    const path = await file('x.csv', text);
    const all = await readArray(path);
    expect(all).toMatchObject({ dtype: 'float64', shape: [3, 3], fortranOrder: false });
    expect([...all.data]).toEqual([1, -2.5, 300, 0.5, NaN, NaN, -Infinity, 4, 1]);
    const some = await readArray(`${path}:b,a`);
    expect(some.shape).toEqual([3, 2]);
    expect([...some.data]).toEqual([-2.5, 1, NaN, 0.5, 4, -Infinity]);
    expect([...(await readArray(`${path}:2`)).data]).toEqual([300, NaN, 1]);
  });

  it('go by number where the first line is numbers, and may be apart by tabs', async () => {
    const path = await file('x.tsv', '1\t2\n3\t4\n');
    const found = await readArray(`${path}:1`);
    expect(found.shape).toEqual([2, 1]);
    expect([...found.data]).toEqual([2, 4]);
  });

  it('are as many as there are, however many', async () => {
    const lines = Array.from({ length: 5000 }, (_, row) => `${row},${-row}`);
    const found = await readArray(await file('long.csv', lines.join('\n')));
    expect(found.shape).toEqual([5000, 2]);
    expect([...found.data]).toEqual(lines.flatMap((line) => line.split(',').map(Number)));
  });

  it.each([
    ['text', 'a,b\n1,2\n3,x\n', '', /line 3 \(row 1\) of column "b" is "x", which is no number/],
    ['what only programs read', 'a\n0x10\n', '', /"0x10", which is no number/],
    ['a column that is not there', 'a,b\n1,2\n', ':c', /no column "c". Its columns are "a", "b"/],
    ['a number behind the last', 'a,b\n1,2\n', ':2', /no column "2"/],
    ['a column twice', 'a,b\n1,2\n', ':a,a', /"a" is named twice/],
    ['a header alone', 'a,b\n', '', /no rows of numbers/],
    ['an empty file', '', '', /no rows of numbers/],
    [
      'lines of different lengths',
      'a,b\n1,2\n3\n',
      '',
      /Cannot read .*Invalid Record Length.* line 3/,
    ],
    [
      'a quote that nobody closes',
      `a\n"${'1'.repeat(2 ** 24 + 9)}`,
      '',
      /Cannot read .*Max Record Size/,
    ],
  ])('refuse %s', async (_, content, columns, message) => {
    const path = await file('bad.csv', content);
    await expect(readArray(`${path}${columns}`)).rejects.toThrow(message);
  });

  it('say what file is missing', async () => {
    await expect(readArray(at('none.csv'))).rejects.toThrow(/Cannot read .*ENOENT/);
  });
});

describe('columns of JSON lines', () => {
  it('are keys, or numbers where lines are arrays', async () => {
    const path = await file('x.jsonl', '\ufeff{"a":1,"b":null}\n\n{"b":true,"a":-2.5,"c":"?"}\n');
    const named = await readArray(path);
    expect(named).toMatchObject({ dtype: 'float64', shape: [2, 2], names: ['a', 'b'] });
    expect([...named.data]).toEqual([1, NaN, -2.5, 1]);
    expect([...(await readArray(`${path}:b`)).data]).toEqual([NaN, 1]);
    const arrays = await readArray(await file('x.ndjson', '[1,1e999]\n[3,4]'));
    expect(arrays.names).toBeUndefined();
    expect([...arrays.data]).toEqual([1, Infinity, 3, 4]);
  });

  it.each([
    ['text', '{"a":1}\n\n{"a":"x"}\n', '', /line 3 \(row 1\) of column "a" is .*no number/],
    ['a missing key', '{"a":1}\n{"b":1}\n', '', /line 2: it has no "a"/],
    ['arrays of other lengths', '[1,2]\n[3]\n', '', /line 2: it is an array of 1, .* array of 2/],
    ['an array after objects', '{"0":1}\n[3]\n', '', /line 2: .* ask for an object/],
    ['what is no row', '7\n', '', /line 1: it is 7/],
    ['what is no JSON', '[1]\n[2\n', '', /line 2: it is no JSON/],
    ['a column that is not there', '{"a":1}\n', ':b', /no column "b". Its columns are "a"/],
    ['an empty file', '', '', /no rows of numbers/],
    ['one endless line', `[${'1,'.repeat(2 ** 23 + 9)}`, '', /line 1: it is longer than 16 MiB/],
  ])('refuse %s', async (_, content, columns, message) => {
    const path = await file('bad.jsonl', content);
    await expect(readArray(`${path}${columns}`)).rejects.toThrow(message);
  });
});

describe('columns of Arrow files', () => {
  const table = tableFromArrays({
    x: Float32Array.of(1, 0.5, -2),
    y: Float32Array.of(4, 5, 6),
    id: [10n, null, 2n ** 40n],
    name: ['a', 'b', 'c'],
  });

  it.each(['file', 'stream'] as const)('are those that are named (%s)', async (format) => {
    const path = await file('x.arrow', tableToIPC(table, { format }) ?? '');
    const single = await readArray(`${path}:y,x`);
    expect(single).toMatchObject({ dtype: 'float32', shape: [3, 2], names: ['y', 'x'] });
    expect([...single.data]).toEqual([4, 5, 6, 1, 0.5, -2]);
    const double = await readArray(`${path}:x,id`);
    expect(double.dtype).toBe('float64');
    expect([...double.data]).toEqual([1, 0.5, -2, 10, NaN, 2 ** 40]);
  });

  it.each([
    ['LZ4', LZ4_FEATHER, 20_000],
    ['Zstandard', ZSTD_FEATHER, 300],
  ])('may be compressed by %s, as others write them', async (_, base64, rows) => {
    const bytes = Buffer.from(base64, 'base64');
    const found = await readArray(await file('c.feather', bytes));
    expect(found).toMatchObject({ shape: [rows, 2], dtype: 'float64', names: ['x', 'n'] });
    const wrong = found.data.findIndex(
      (value, k) => value !== (k < rows ? (k % 3) * 0.75 - 0.5 : (k - rows) % 5),
    );
    expect(wrong).toBe(-1);
  });

  it('refuse text, columns that are not there, and files that are cut off or empty', async () => {
    const bytes = tableToIPC(table, { format: 'file' }) ?? new Uint8Array();
    const path = await file('x.feather', bytes);
    await expect(readArray(path)).rejects.toThrow(/row 0 of column "name" is "a", which is no/);
    await expect(readArray(`${path}:z`)).rejects.toThrow(/no column "z"/);
    for (const length of [0, 5, bytes.length >> 1, bytes.length - 9]) {
      const cut = await file('cut.arrow', bytes.subarray(0, length));
      await expect(readArray(`${cut}:x`), String(length)).rejects.toThrow(/Cannot read .*cut/);
    }
  });
});

describe('columns of Parquet files', () => {
  it.each([false, true])('are those that are named (compressed: %s)', async (isCompressed) => {
    const path = await file('x.parquet', parquetFile([COLUMNS], isCompressed));
    const single = await readArray(`${path}:y,x`);
    expect(single).toMatchObject({ dtype: 'float32', shape: [3, 2], fortranOrder: true });
    expect([...single.data]).toEqual([-1, 2, 3, 1, 0.5, NaN]);
    const double = await readArray(`${path}:x,count,id,value`);
    expect(double).toMatchObject({ dtype: 'float64', shape: [3, 4] });
    expect([...double.data]).toEqual([
      ...[1, 0.5, NaN],
      ...[7, -8, 9],
      ...[10, NaN, -(2 ** 40)],
      ...[0.1, 1e300, -Infinity],
    ]);
  });

  it('are read of all row groups', async () => {
    const group = (values: readonly number[]): ParquetColumn[] => [
      { name: 'x', type: 'DOUBLE', values },
      { name: 'y', type: 'DOUBLE', values: values.map((value) => -value) },
    ];
    const path = await file('groups.parquet', parquetFile([group([1, 2]), group([3, 4, 5])]));
    const found = await readArray(path);
    expect(found.shape).toEqual([5, 2]);
    expect([...found.data]).toEqual([1, 2, 3, 4, 5, -1, -2, -3, -4, -5]);
  });

  it('refuse text, columns that are not there, and what is no such file', async () => {
    const path = await file('x.parquet', parquetFile([COLUMNS]));
    await expect(readArray(path)).rejects.toThrow(/row 0 of column "name" is "a", which is no/);
    await expect(readArray(`${path}:z`)).rejects.toThrow(/no column "z"/);
    const broken = await file('broken.parquet', 'PAR1 and nothing');
    await expect(readArray(broken)).rejects.toThrow(/Cannot read .*parquet/);
    const whole = parquetFile([COLUMNS]);
    for (const length of [0, whole.length >> 1, whole.length - 1]) {
      const cut = await file('cut.parquet', whole.subarray(0, length));
      await expect(readArray(`${cut}:x`), String(length)).rejects.toThrow(/Cannot read .*cut/);
    }
  });
});

describe('commands', () => {
  it('take columns as rows, and a column as the values of a parameter', async () => {
    const csv = await file('a.csv', 'x,y,name\n0,0,p\n3,4,q\n');
    const parquet = await file('b.parquet', parquetFile([COLUMNS.slice(0, 2)]));
    const args = ['cdist', `${csv}:x,y`, parquet, '--dtype', 'float32', '--out', at('d.npy')];
    expect(await mercerJson(args)).toMatchObject({ shape: [2, 3], dtype: 'float32' });
    const { data } = await readNpy(at('d.npy'));
    const wanted = [Math.SQRT2, Math.hypot(0.5, 2), NaN, Math.hypot(2, 5), Math.hypot(2.5, 2), NaN];
    expect([...data]).toEqual(
      wanted.map((value) => (Number.isNaN(value) ? NaN : (expect.closeTo(value, 5) as unknown))),
    );
    const scale = await file('scale.csv', 'scale\n1\n2\n');
    const kernel = ['--kernel', 'gaussian', '--inner-operator', 'diff', '--inner-power', 'square'];
    const out = ['--bandwidth', '1', '--scale', `${scale}:scale`, '--out', at('k.npy')];
    expect(await mercerJson(['kernel', `${csv}:x,y`, ...kernel, ...out])).toMatchObject({
      shape: [2, 2],
      dtype: 'float64',
    });
    const bad = await mercer(['cdist', csv, parquet, '--out', at('no.npy')]);
    expect(bad.status).toBe(1);
    expect(bad.stderr).toMatch(/column "name" is "p", which is no number/);
  });
});
