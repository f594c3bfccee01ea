import { describe, expect, it } from 'vitest';
import { castOracle, nearest16 } from './testing/cast-oracle.test-support.js';
import { castSamples } from './testing/cast-samples.test-support.js';
import { bfloat16Bits, bfloat16ToFloat32, float16Bits, float16ToFloat32 } from './half.js';
import { hostArray, type HostArrayOptions } from './host-array.js';
import { convertStorage } from './host-convert.js';
import { MercerError } from './mercer-error.js';
import { DTYPES } from '@mercer/kernels';

const read = (source: unknown, options: HostArrayOptions = {}) =>
  hostArray(source, options, 'tensor');

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return error instanceof MercerError ? error.code : String(error);
  }
  return 'no error';
}

describe('half precision on the host', () => {
  it('rounds once, to nearest even', () => {
    for (const dtype of ['float16', 'bfloat16'] as const) {
      const toBits = dtype === 'float16' ? float16Bits : bfloat16Bits;
      for (const value of castSamples('float64', 20_000).values as number[]) {
        const expected = nearest16(value, dtype);
        if (expected === 'nan')
          expect(toBits(value) & 0x7fff).toBeGreaterThan(dtype === 'float16' ? 0x7c00 : 0x7f80);
        else if (toBits(value) !== expected)
          expect(`${dtype} ${value} ${toBits(value)}`).toBe(expected);
      }
    }
  });

  it('reads every pattern back', () => {
    for (const dtype of ['float16', 'bfloat16'] as const) {
      const { raw, values } = castSamples(dtype);
      const widen = dtype === 'float16' ? float16ToFloat32 : bfloat16ToFloat32;
      expect(Array.from(widen(raw as Uint16Array))).toEqual(values);
    }
  });

  it('converts between all dtypes as the kernels do', () => {
    for (const from of DTYPES) {
      const { raw, values } = castSamples(from, 300);
      for (const to of DTYPES) {
        if (from === to) continue;
        const found = convertStorage(raw, from, to) as ArrayLike<number | bigint>;
        const wrong = values.filter((value, i) => {
          const expected = castOracle(value, to);
          if (expected !== 'nan') return !Object.is(found[i], expected);
          const bits = Number(found[i]) & 0x7fff;
          return to === 'float16'
            ? bits <= 0x7c00
            : to === 'bfloat16'
              ? bits <= 0x7f80
              : !Number.isNaN(found[i]);
        });
        expect(wrong, `${from} to ${to}`).toEqual([]);
      }
    }
  });
});

describe('sources', () => {
  it('takes typed arrays as they are', () => {
    const data = new Float64Array([1, 2, 3, 4]);
    expect(read(data, { shape: [2, 2] })).toEqual({
      data,
      dtype: 'float64',
      shape: [2, 2],
      strides: [2, 1],
      offset: 0,
    });
    expect(read(data).data.buffer).toBe(data.buffer);
    expect(read(new Int16Array([-3])).dtype).toBe('int32');
    expect(read(new Uint32Array([2 ** 32 - 1])).data).toEqual(BigInt64Array.of(4294967295n));
    expect(read(new BigUint64Array([5n])).data).toEqual(BigInt64Array.of(5n));
    expect(read(new Uint8ClampedArray([7])).dtype).toBe('uint8');
    expect(read(new Uint8Array([7, 0]), { dtype: 'bool' }).data).toEqual(Uint8Array.of(1, 0));
    expect(read(new Uint16Array([0x3c00]), { dtype: 'float16' })).toMatchObject({
      dtype: 'float16',
    });
    expect(read(new Uint16Array([65535]), { dtype: 'int32' }).data).toEqual(Int32Array.of(65535));
    expect(read(new Float32Array([1.5, NaN]), { dtype: 'int32' }).data).toEqual(
      Int32Array.of(1, 0),
    );
  });

  it('takes nested arrays', () => {
    expect(
      read([
        [1, 2],
        [3, 4],
      ]),
    ).toMatchObject({ dtype: 'float32', shape: [2, 2] });
    expect(read([[[true]], [[false]]])).toMatchObject({
      dtype: 'bool',
      shape: [2, 1, 1],
      data: Uint8Array.of(1, 0),
    });
    expect(read([1n, -1n])).toMatchObject({ dtype: 'int64', data: BigInt64Array.of(1n, -1n) });
    expect(read(5)).toMatchObject({ dtype: 'float32', shape: [] });
    expect(read([])).toMatchObject({ dtype: 'float32', shape: [0] });
    expect(read([[], []])).toMatchObject({ shape: [2, 0] });
    expect(read([new Float64Array([1, 2]), new Float64Array([3, 4])])).toMatchObject({
      shape: [2, 2],
    });
    expect(read([1, 2, 3, 4], { shape: [2, 2], dtype: 'float64' })).toMatchObject({
      shape: [2, 2],
      dtype: 'float64',
    });
  });

  it('takes nested arrays of several kinds by the widest of them, in any order', () => {
    const ofKind = (data: unknown): unknown[] => {
      const array = hostArray(data, {}, 'tensor');
      return [array.dtype, ...array.data];
    };
    expect(ofKind([true, 2.5])).toEqual(['float32', 1, 2.5]);
    expect(ofKind([2.5, true])).toEqual(['float32', 2.5, 1]);
    expect(ofKind([[3n], [0.5]])).toEqual(['float32', 3, 0.5]);
    expect(ofKind([[false], [3n]])).toEqual(['int64', 0n, 3n]);
    expect(ofKind([[true], [false]])).toEqual(['bool', 1, 0]);
    expect([...hostArray([true, 2], { dtype: 'bool' }, 'tensor').data]).toEqual([1, 1]);
  });

  it('takes strided memory, dense as it lies and packed where it has gaps', () => {
    const data = Float32Array.from({ length: 12 }, (_, i) => i);
    const transposed = read({ data, shape: [4, 3], stride: [1, 4], offset: 0 });
    expect(transposed).toMatchObject({ shape: [4, 3], strides: [1, 4] });
    expect(transposed.data.buffer).toBe(data.buffer);
    expect(read({ data, shape: [3, 4], fortranOrder: true }).strides).toEqual([1, 3]);
    const gaps = read({ data, shape: [3, 2], strides: [4, 2], offset: 1 });
    expect(gaps).toMatchObject({ strides: [2, 1], data: Float32Array.of(1, 3, 5, 7, 9, 11) });
    const reversed = read({ data, shape: [3], strides: [-1], offset: 2 });
    expect(reversed.data).toEqual(Float32Array.of(2, 1, 0));
    const half = { data: new Uint16Array([0x4000]), shape: [1], dtype: 'float16' };
    expect(read(half, { dtype: 'float32' }).data).toEqual(Float32Array.of(2));
  });

  it('refuses what it cannot read', () => {
    const data = new Float32Array(6);
    const cases: [unknown, HostArrayOptions, string][] = [
      [[[1, 2], [3]], {}, 'SHAPE_MISMATCH'],
      [[1, [2]], {}, 'SHAPE_MISMATCH'],
      [[[1], 2], {}, 'SHAPE_MISMATCH'],
      [['1'], {}, 'INVALID_ARGUMENT'],
      [[null], {}, 'INVALID_ARGUMENT'],
      [undefined, {}, 'INVALID_ARGUMENT'],
      [{}, {}, 'INVALID_ARGUMENT'],
      [[2n ** 64n], {}, 'INVALID_ARGUMENT'],
      [new Uint16Array(1), {}, 'INVALID_ARGUMENT'],
      [new BigUint64Array([2n ** 63n]), {}, 'INVALID_ARGUMENT'],
      [new DataView(new ArrayBuffer(4)), {}, 'INVALID_ARGUMENT'],
      [data, { shape: [4] }, 'SHAPE_MISMATCH'],
      [data, { shape: [-6] }, 'INVALID_ARGUMENT'],
      [data, { shape: [2.5] }, 'INVALID_ARGUMENT'],
      [data, { shape: '6' as never }, 'INVALID_ARGUMENT'],
      [data, { shape: [2 ** 30, 2 ** 30] }, 'INVALID_ARGUMENT'],
      [data, { shape: new Array<number>(33).fill(1) }, 'INVALID_ARGUMENT'],
      [{ data, shape: [7] }, {}, 'INVALID_ARGUMENT'],
      [{ data, shape: [3], strides: [-1], offset: 1 }, {}, 'INVALID_ARGUMENT'],
      [{ data, shape: [3], strides: [1, 1] }, {}, 'SHAPE_MISMATCH'],
      [{ data, shape: [3], strides: [0.5] }, {}, 'INVALID_ARGUMENT'],
      [{ data, shape: [3, 2], strides: [1, 3] }, { shape: [6] }, 'SHAPE_MISMATCH'],
    ];
    for (const [source, options, code] of cases)
      expect(codeOf(() => read(source, options))).toBe(code);
    const loop: unknown[] = [];
    loop.push(loop);
    expect(codeOf(() => read(loop))).toBe('INVALID_ARGUMENT');
  });
});

describe('a data frame', () => {
  /** As danfojs's: a class with getters. */
  class Frame {
    constructor(
      readonly columns: readonly string[],
      readonly rows: unknown,
    ) {}
    get values(): unknown {
      return this.rows;
    }
    get shape(): readonly number[] {
      return [2, 2];
    }
  }

  it('is the matrix of its rows, or the vector of a column', () => {
    const frame = new Frame(['a', 'b'], [[1, 2], [3, 4]]); // prettier-ignore
    expect(read(frame)).toMatchObject({ dtype: 'float32', shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }); // prettier-ignore
    expect(read(frame, { dtype: 'float64' }).data).toEqual(Float64Array.of(1, 2, 3, 4));
    expect(read(new Frame(['a'], [1, 2]))).toMatchObject({ shape: [2] });
    expect(read(new Frame(['a'], Int32Array.of(1, 2)))).toMatchObject({
      dtype: 'int32',
      shape: [2],
    });
  });

  it('with anything but numbers is refused by row and column', () => {
    for (const odd of [null, undefined, 'x']) {
      const frame = new Frame(['a', 'b'], [[1, 2], [3, odd]]); // prettier-ignore
      expect(codeOf(() => read(frame))).toBe('INVALID_ARGUMENT');
      expect(() => read(frame)).toThrow(/row 1 of column "b" of the data frame is/);
    }
  });
});
