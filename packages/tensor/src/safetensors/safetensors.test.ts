import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tensor, type DType } from '../index.js';
import { ALL_DTYPES, randomData, rawBytes } from '../npy/testing/arrays.test-support.js';
import {
  listSafetensors,
  NpyError,
  readSafetensors,
  writeSafetensors,
  type SafetensorsDType,
  type SafetensorsInput,
} from './index.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'safetensors-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** A file with a header as it is given, padded or not, and so many bytes of elements. */
function fileOf(header: unknown, bytes: Uint8Array = new Uint8Array(0)): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, bytes]);
}

const entry = (
  dtype: string,
  shape: readonly unknown[],
  ...offsets: readonly unknown[]
): object => ({
  dtype,
  shape,
  data_offsets: offsets,
});

describe('a .safetensors file', () => {
  const array = fc.record({
    dtype: fc.constantFrom<SafetensorsDType>(...ALL_DTYPES, 'bfloat16'),
    shape: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
    seed: fc.integer(),
  });
  const text = fc.string({ unit: 'grapheme' });

  it('is read as it was written, of any dtypes, shapes and names, to the bit', async () => {
    const path = join(folder, 'any.safetensors');
    const arrays = fc.dictionary(
      text.filter((name) => name !== '__metadata__'),
      array,
    );
    await fc.assert(
      fc.asyncProperty(arrays, fc.dictionary(text, text), async (given, metadata) => {
        const written = Object.entries(given).map(([name, { dtype, shape, seed }]) => {
          const size = shape.reduce((a, b) => a * b, 1);
          const data = randomData(dtype === 'bfloat16' ? 'float16' : dtype, size, seed);
          return [name, { dtype, shape, data }] as const;
        });
        await writeSafetensors(path, new Map<string, SafetensorsInput>(written), {
          metadata: new Map(Object.entries(metadata)),
        });
        const read = await readSafetensors(path);
        expect(read.metadata).toEqual(new Map(Object.entries(metadata)));
        expect([...read.arrays.keys()].sort()).toEqual(written.map(([name]) => name).sort());
        for (const [name, { dtype, shape, data }] of written) {
          const found = read.arrays.get(name);
          expect(found).toMatchObject({ dtype, shape });
          expect(found?.data.constructor).toBe(data.constructor);
          expect(rawBytes(found?.data ?? new Uint8Array(1))).toEqual(rawBytes(data));
        }
      }),
      { numRuns: 60, seed: 11 },
    );
  });

  it('is laid out as the format says: widest elements first, from a multiple of 8', async () => {
    const path = join(folder, 'layout.safetensors');
    await writeSafetensors(
      path,
      {
        flags: { data: Uint8Array.of(1, 0, 1), shape: [3], dtype: 'bool' },
        wide: { data: Float64Array.of(1.5), shape: [] },
      },
      { metadata: { format: 'pt' } },
    );
    const bytes = await readFile(path);
    const length = Number(bytes.readBigUInt64LE());
    expect(length % 8).toBe(0);
    expect(JSON.parse(bytes.subarray(8, 8 + length).toString())).toEqual({
      __metadata__: { format: 'pt' },
      wide: entry('F64', [], 0, 8),
      flags: entry('BOOL', [3], 8, 11),
    });
    expect([...bytes.subarray(8 + length)]).toEqual([0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 1, 0, 1]);
  });

  it('gives what tensors are made of, of every dtype', async () => {
    const path = join(folder, 'tensors.safetensors');
    for (const dtype of [...ALL_DTYPES, 'bfloat16'] as DType[]) {
      const values = [[0, 1], [1, 1], [1, 0]]; // prettier-ignore
      const t = await tensor(values, { dtype, device: 'cpu' });
      const { shape } = t;
      const data = await t.toTypedArray({ raw: true });
      await writeSafetensors(path, { t: { data, shape, dtype } });
      const found = (await readSafetensors(path)).arrays.get('t');
      const again = await tensor(found as NonNullable<typeof found>, { device: 'cpu' });
      expect(again.dtype).toBe(dtype);
      expect(await again.cast('float32').toNested()).toEqual(values);
    }
  });

  it.each<[type: string, bytes: readonly number[], dtype: string, values: unknown]>([
    ['I8', [0xff, 2], 'int32', Int32Array.of(-1, 2)],
    ['I16', [0xfe, 0xff, 2, 1], 'int32', Int32Array.of(-2, 258)],
    ['U16', [0xff, 0xff, 0, 0], 'int32', Int32Array.of(65535, 0)],
    ['U32', [0xff, 0xff, 0xff, 0xff], 'int64', BigInt64Array.of(2n ** 32n - 1n)],
    ['U64', [7, 0, 0, 0, 0, 0, 0, 0], 'int64', BigInt64Array.of(7n)],
  ])('of %s is read as the narrowest dtype that holds it', async (type, bytes, dtype, data) => {
    const size = (data as ArrayLike<unknown>).length;
    const file = fileOf({ a: entry(type, [size], 0, bytes.length) }, Uint8Array.from(bytes));
    expect((await readSafetensors(file)).arrays.get('a')).toEqual({ dtype, shape: [size], data });
  });

  it('is listed from its header, and read in part', async () => {
    const path = join(folder, 'part.safetensors');
    const large = { data: new Float32Array(3_000_000).fill(2), shape: [3000, 1000] };
    await writeSafetensors(path, { large, small: { data: Int32Array.of(5), shape: [1] } });
    const { arrays } = await listSafetensors(path);
    expect(arrays.get('large')).toEqual({ dtype: 'float32', shape: [3000, 1000], bytes: 12e6 });
    const seen: number[] = [];
    const part = await readSafetensors(path, {
      names: ['small'],
      onProgress: ({ done, total }) => seen.push(done, total),
    });
    expect([...part.arrays.keys()]).toEqual(['small']);
    expect(seen).toEqual([4, 4]);
    const whole = (await readSafetensors(path)).arrays.get('large');
    expect(rawBytes(whole?.data ?? new Uint8Array(1)).equals(rawBytes(large.data))).toBe(true);
    await expect(readSafetensors(path, { names: ['no'] })).rejects.toThrow(
      /no array "no". It has "large", "small"/,
    );
    await expect(readSafetensors(path, { maxBytes: 100 })).rejects.toMatchObject({
      code: 'NPY_TOO_LARGE',
    });
  });

  it('stays as it was where a write is ended or refused', async () => {
    const path = join(folder, 'kept.safetensors');
    const small = { data: Int32Array.of(5), shape: [1] };
    await writeSafetensors(path, { small });
    const before = await readFile(path);
    const controller = new AbortController();
    const large = { data: new Float32Array(3_000_000), shape: [3_000_000] };
    const ended = writeSafetensors(
      path,
      { large },
      {
        signal: controller.signal,
        onProgress: () => {
          controller.abort(new Error('enough'));
        },
      },
    );
    await expect(ended).rejects.toThrow('enough');
    for (const [arrays, options, message] of [
      [{ a: { data: small.data, shape: [2] } }, {}, /shape \(2\) has 2 elements/],
      [{ a: { ...small, dtype: 'bfloat16' } }, {}, /'float16' do not live in a Int32Array/],
      [{ __metadata__: small }, {}, /"__metadata__" names no array/],
      [{ small }, { metadata: { a: 1 } }, /metadata has "a": 1, which is no text/],
      [[small], {}, /the arrays are an array of 1/],
      [{ small }, { meta: {} }, /there is no option 'meta'/],
    ] as const) {
      const call = writeSafetensors(path, arrays as never, options as never);
      await expect(call).rejects.toMatchObject({ code: 'NPY_ARGUMENT' });
      await expect(call).rejects.toThrow(message);
    }
    expect(await readFile(path)).toEqual(before);
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('readSafetensors refuses', () => {
  const f32 = (...offsets: readonly unknown[]): object => entry('F32', [2], ...offsets);
  const eight = new Uint8Array(8);

  it.each<[what: string, file: Uint8Array, code: string, message: RegExp]>([
    ['nothing', new Uint8Array(0), 'NPY_TRUNCATED', /0 bytes/],
    ['half a length', new Uint8Array(4), 'NPY_TRUNCATED', /4 bytes/],
    [
      'a header of 2^64 bytes',
      new Uint8Array(8).fill(255),
      'NPY_TOO_LARGE',
      /18446744073709551615/,
    ],
    ['a header that is cut short', fileOf({ a: f32(0, 8) }).slice(0, 20), 'NPY_TRUNCATED', /there/],
    ['a header that is no JSON', fileOf('{"a":'), 'NPY_INVALID', /no JSON/],
    ['a header that is no UTF-8', fileOf('').fill(0), 'NPY_INVALID', /no JSON/],
    ['a byte order mark', fileOf('\ufeff{}'), 'NPY_INVALID', /no JSON/],
    ['a list', fileOf([]), 'NPY_INVALID', /no JSON object/],
    ['a space first', fileOf(' {}'), 'NPY_INVALID', /no JSON object/],
    [
      'a name twice, once escaped',
      fileOf(
        '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"\\u0061":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}',
        eight,
      ),
      'NPY_INVALID',
      /names "a" twice/,
    ],
    [
      'a key twice',
      fileOf('{"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}}', eight),
      'NPY_INVALID',
      /names "shape" twice/,
    ],
    ['an entry that is no object', fileOf({ a: 3 }), 'NPY_INVALID', /"a" has not exactly/],
    ['another key', fileOf({ a: { ...f32(0, 8), x: 1 } }, eight), 'NPY_INVALID', /not exactly/],
    ['another type', fileOf({ a: entry('F8_E4M3', [2], 0, 2) }), 'NPY_UNSUPPORTED', /"F8_E4M3"/],
    [
      'a type that names a method',
      fileOf({ a: entry('toString', [0], 0, 0) }),
      'NPY_UNSUPPORTED',
      /toString/,
    ],
    ['a negative extent', fileOf({ a: entry('F32', [-2], 0, 8) }, eight), 'NPY_INVALID', /counts/],
    ['half an extent', fileOf({ a: entry('F32', [1.5], 0, 6) }, eight), 'NPY_INVALID', /counts/],
    ['65 axes', fileOf({ a: entry('U8', Array(65).fill(1), 0, 1) }, eight), 'NPY_INVALID', /64/],
    [
      'sizes that wrap 64 bits',
      fileOf({ a: entry('F32', [2 ** 31, 2 ** 31, 2 ** 3], 0, 8) }, eight),
      'NPY_INVALID',
      /elements of 4 bytes/,
    ],
    ['one offset', fileOf({ a: f32(0) }, eight), 'NPY_INVALID', /two counts/],
    ['offsets the wrong way round', fileOf({ a: f32(8, 0) }, eight), 'NPY_INVALID', /8 to 0/],
    ['offsets of another size', fileOf({ a: f32(0, 4) }, eight), 'NPY_INVALID', /0 to 4/],
    ['offsets beyond the end', fileOf({ a: f32(0, 8) }), 'NPY_TRUNCATED', /end at byte/],
    [
      'arrays that overlap',
      fileOf({ a: f32(0, 8), b: f32(4, 12) }, new Uint8Array(12)),
      'NPY_INVALID',
      /"b" overlaps/,
    ],
    [
      'arrays that are one',
      fileOf({ a: f32(0, 8), b: f32(0, 8) }, eight),
      'NPY_INVALID',
      /overlaps/,
    ],
    ['a hole', fileOf({ a: f32(4, 12) }, new Uint8Array(12)), 'NPY_INVALID', /"a" leaves a hole/],
    [
      'bytes left over',
      fileOf({ a: f32(0, 8) }, new Uint8Array(9)),
      'NPY_INVALID',
      /1 bytes behind/,
    ],
    ['metadata that is no object', fileOf({ __metadata__: [1] }), 'NPY_INVALID', /__metadata__/],
    ['metadata that is no text', fileOf({ __metadata__: { a: 1 } }), 'NPY_INVALID', /__metadata__/],
  ])('%s', async (_, file, code, message) => {
    const path = join(folder, 'hostile.safetensors');
    await writeFile(path, file);
    for (const source of [file, path]) {
      const error: unknown = await readSafetensors(source).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(NpyError);
      expect(error).toMatchObject({ code });
      expect((error as NpyError).message).toMatch(message);
    }
  });

  it('anything but a valid file with NpyError and nothing else (byte flips and cuts)', async () => {
    const whole = fileOf(
      { __metadata__: { a: 'b' }, x: f32(0, 8), y: entry('U8', [2, 2], 8, 12) },
      new Uint8Array(12),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.nat(whole.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        async (at, flip, cut) => {
          const file = cut
            ? whole.slice(0, at)
            : whole.map((byte, k) => (k === at ? byte ^ flip : byte));
          const found = await readSafetensors(file).catch((error: unknown) => error);
          if (!(found instanceof Error)) return;
          expect(found).toBeInstanceOf(NpyError);
        },
      ),
      { numRuns: 2000, seed: 5 },
    );
  });
});
