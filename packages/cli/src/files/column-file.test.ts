import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';
import { parquetFile, type ParquetColumn } from '../testing/write-parquet.test-support.js';
import { readColumns } from './column-file.js';

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
    const all = await readColumns(path);
    expect(all).toMatchObject({ dtype: 'float64', shape: [3, 3], fortranOrder: false });
    expect([...(all?.data ?? [])]).toEqual([1, -2.5, 300, 0.5, NaN, NaN, -Infinity, 4, 1]);
    const some = await readColumns(`${path}:b,a`);
    expect(some?.shape).toEqual([3, 2]);
    expect([...(some?.data ?? [])]).toEqual([-2.5, 1, NaN, 0.5, 4, -Infinity]);
    expect([...((await readColumns(`${path}:2`))?.data ?? [])]).toEqual([300, NaN, 1]);
  });

  it('go by number where the first line is numbers, and may be apart by tabs', async () => {
    const path = await file('x.tsv', '1\t2\n3\t4\n');
    const found = await readColumns(`${path}:1`);
    expect(found?.shape).toEqual([2, 1]);
    expect([...(found?.data ?? [])]).toEqual([2, 4]);
  });

  it('are as many as there are, however many', async () => {
    const lines = Array.from({ length: 5000 }, (_, row) => `${row},${-row}`);
    const found = await readColumns(await file('long.csv', lines.join('\n')));
    expect(found?.shape).toEqual([5000, 2]);
    expect([...(found?.data ?? [])]).toEqual(lines.flatMap((line) => line.split(',').map(Number)));
  });

  it.each([
    ['text', 'a,b\n1,2\n3,x\n', '', /DTYPE|row 1 of column "b" is "x", which is no number/],
    ['what only programs read', 'a\n0x10\n', '', /"0x10", which is no number/],
    ['a column that is not there', 'a,b\n1,2\n', ':c', /no column "c". Its columns are "a", "b"/],
    ['a number behind the last', 'a,b\n1,2\n', ':2', /no column "2"/],
    ['a column twice', 'a,b\n1,2\n', ':a,a', /names "a" twice/],
    ['a header alone', 'a,b\n', '', /no rows of numbers/],
    ['lines of different lengths', 'a,b\n1,2\n3\n', '', /Cannot read .*Invalid Record Length/],
  ])('refuse %s', async (_, content, columns, message) => {
    const path = await file('bad.csv', content);
    await expect(readColumns(`${path}${columns}`)).rejects.toThrow(message);
  });

  it('say what file is missing', async () => {
    await expect(readColumns(at('none.csv'))).rejects.toThrow(/Cannot read .*ENOENT/);
  });
});

describe('columns of Parquet files', () => {
  it.each([false, true])('are those that are named (compressed: %s)', async (isCompressed) => {
    const path = await file('x.parquet', parquetFile([COLUMNS], isCompressed));
    const single = await readColumns(`${path}:y,x`);
    expect(single).toMatchObject({ dtype: 'float32', shape: [3, 2], fortranOrder: true });
    expect([...(single?.data ?? [])]).toEqual([-1, 2, 3, 1, 0.5, NaN]);
    const double = await readColumns(`${path}:x,count,id,value`);
    expect(double).toMatchObject({ dtype: 'float64', shape: [3, 4] });
    expect([...(double?.data ?? [])]).toEqual([
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
    const found = await readColumns(path);
    expect(found?.shape).toEqual([5, 2]);
    expect([...(found?.data ?? [])]).toEqual([1, 2, 3, 4, 5, -1, -2, -3, -4, -5]);
  });

  it('refuse text, columns that are not there, and what is no such file', async () => {
    const path = await file('x.parquet', parquetFile([COLUMNS]));
    await expect(readColumns(path)).rejects.toThrow(/row 0 of column "name" is "a", which is no/);
    await expect(readColumns(`${path}:z`)).rejects.toThrow(/no column "z"/);
    const broken = await file('broken.parquet', 'PAR1 and nothing');
    await expect(readColumns(broken)).rejects.toThrow(/Cannot read .*parquet/);
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
