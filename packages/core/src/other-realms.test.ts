import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { cdist, grad, lazyI, lazyJ, tensor, type StridedSource } from './index.js';
import { readNpz, writeNpz } from './npy.js';

/** What a program of another realm makes: a test of Jest, a frame of a page. */
const there = (text: string, names: object = {}): unknown => runInNewContext(`(${text})`, names);

const CPU = { device: 'cpu' } as const;

const KINDS = {
  Float64Array: ['[0.5, 2]', 'float64'],
  Float32Array: ['[0.5, 2]', 'float32'],
  BigInt64Array: ['[1n, -2n]', 'int64'],
  BigUint64Array: ['[1n, 2n]', 'int64'],
  Int32Array: ['[1, -2]', 'int32'],
  Int16Array: ['[1, -2]', 'int32'],
  Int8Array: ['[1, -2]', 'int32'],
  Uint8Array: ['[1, 2]', 'uint8'],
  Uint8ClampedArray: ['[1, 2]', 'uint8'],
  Uint32Array: ['[1, 2]', 'int64'],
} as const;

describe('data of another realm', () => {
  it.each(Object.entries(KINDS))('a %s', async (kind, [numbers, dtype]) => {
    const data = there(`${kind}.of(...${numbers})`) as Float32Array;
    expect(data).not.toBeInstanceOf(globalThis[kind as 'Float32Array']);
    const made = await tensor(data, CPU);
    expect(made.dtype).toBe(dtype);
    expect(Array.from(await made.toTypedArray(), String)).toEqual(Array.from(data, String));
  });

  it('half of the memory of an array, by strides', async () => {
    const data = there('new Float64Array([9, 1, 2, 3, 4]).subarray(1)') as Float64Array;
    const made = await tensor({ data, shape: [2, 2], strides: [1, 2] }, CPU);
    expect(await made.toNested()).toEqual([[1, 3], [2, 4]]); // prettier-ignore
  });

  it('nested arrays, and options', async () => {
    const rows = there('[[0, 0], [3, 4]]') as number[][];
    const options = there("{ device: 'cpu', dtype: 'float64' }") as typeof CPU;
    const made = await tensor(rows, options);
    expect(await cdist(made, made, there('{ p: 1 }') as { p: number }).toNested()).toEqual([[0, 7], [7, 0]]); // prettier-ignore
  });

  it('symbolic matrices, also in blocks', async () => {
    const x = there('{ data: new Float32Array([0, 0, 3, 4]), shape: [2, 2] }') as StridedSource;
    const sums = lazyI(x).sqdist(lazyJ(x));
    expect(await sums.sum('j', CPU).toNested()).toEqual([[25], [25]]);
    expect(await sums.sum('j', { ...CPU, maxBytes: 4096 }).toNested()).toEqual([[25], [25]]);
  });

  it('an array that takes a matrix', async () => {
    const x = await tensor([[0, 0], [3, 4]], CPU); // prettier-ignore
    const out = there('new Float32Array(4)') as Float32Array;
    expect(await cdist(x, x, { out })).toBe(out);
    expect(Array.from(out)).toEqual([0, 5, 5, 0]);
  });

  it('functions that are differentiated', async () => {
    const loss = there('async (x) => { const y = await x.square(); return y.sum(); }');
    const x = await tensor([1, 2], CPU);
    expect(await (await grad(loss as (one: typeof x) => Promise<typeof x>)(x)).toNested()).toEqual([2, 4]); // prettier-ignore
  });

  it('files, and maps of arrays that are written', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mercer-realms-'));
    try {
      const path = join(folder, 'all.npz');
      await writeNpz(
        path,
        there("new Map([['a', { data: Float64Array.of(1, 2), shape: [2] }]])") as never,
      );
      const bytes = there('Uint8Array.from([...bytes])', { bytes: readFileSync(path) });
      const { a } = Object.fromEntries(await readNpz(bytes as Uint8Array));
      expect(Array.from(a?.data ?? [], Number)).toEqual([1, 2]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
