import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { npyStrides } from './npy-array.js';
import { decodeNpy, encodeNpy } from './npy-codec.js';
import { ALL_DTYPES, anyArray, randomData, rawBytes } from './testing/arrays.test-support.js';
import { codeOf, fileWith } from './testing/broken-files.test-support.js';

describe('encodeNpy and decodeNpy', () => {
  it('round-trip every element type, shape, order and byte order, bit for bit', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(anyArray, fc.constantFrom('little', 'big'), (array, byteOrder) => {
        const before = Buffer.from(rawBytes(array.data));
        const back = decodeNpy(encodeNpy(array, { byteOrder }));
        expect(back.dtype).toBe(array.dtype);
        expect(back.shape).toEqual(array.shape);
        expect(back.fortranOrder).toBe(array.fortranOrder);
        expect(rawBytes(back.data).equals(before)).toBe(true);
        expect(rawBytes(array.data).equals(before)).toBe(true);
        seen.set(array.dtype + byteOrder, (seen.get(array.dtype + byteOrder) ?? 0) + 1);
      }),
      { numRuns: 500, seed: 11 },
    );
    for (const dtype of ALL_DTYPES) {
      for (const order of ['little', 'big']) expect(seen.get(dtype + order)).toBeGreaterThan(0);
    }
  });

  it('aligns the elements to 64 bytes', () => {
    for (const shape of [[], [1], [2, 3, 4], new Array<number>(64).fill(1)]) {
      const size = shape.reduce((a, b) => a * b, 1);
      const bytes = encodeNpy({ data: new Float64Array(size), shape });
      expect((bytes.length - size * 8) % 64).toBe(0);
    }
  });

  it('writes the elements of a view, not of its whole buffer', () => {
    const view = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
    expect([...decodeNpy(encodeNpy({ data: view, shape: [2] })).data]).toEqual([1, 2]);
  });

  it('owns its elements', () => {
    const bytes = encodeNpy({ data: Uint8Array.of(1, 2), shape: [2] });
    const { data } = decodeNpy(bytes);
    bytes.fill(0);
    expect([...data]).toEqual([1, 2]);
  });

  it('reads versions 1, 2 and 3, odd spacing and the long integers of Python 2', () => {
    const header = "{ \"shape\" : ( 2L , ) ,'fortran_order':True,\n'descr':'>i4'}";
    const body = Uint8Array.of(0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff);
    for (const version of [1, 2, 3]) {
      const array = decodeNpy(fileWith(header, body, version));
      expect(array).toMatchObject({ dtype: 'int32', shape: [2], fortranOrder: true });
      expect([...array.data]).toEqual([1, -1]);
    }
  });

  it('normalises bool bytes to 0 and 1 in both directions', () => {
    const header = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }";
    expect([...decodeNpy(fileWith(header, Uint8Array.of(0, 7, 1))).data]).toEqual([0, 1, 1]);
    const bytes = encodeNpy({ data: Uint8Array.of(0, 7), shape: [2], dtype: 'bool' });
    expect([...bytes.slice(-2)]).toEqual([0, 1]);
  });

  it('gives strides for both orders', () => {
    expect(npyStrides({ shape: [2, 3, 4], fortranOrder: false })).toEqual([12, 4, 1]);
    expect(npyStrides({ shape: [2, 3, 4], fortranOrder: true })).toEqual([1, 2, 6]);
    expect(npyStrides({ shape: [], fortranOrder: false })).toEqual([]);
  });

  it('swaps arrays longer than one piece', () => {
    const data = randomData('float64', 3_000_000, 5);
    const back = decodeNpy(encodeNpy({ data, shape: [3_000_000] }, { byteOrder: 'big' }));
    expect(rawBytes(back.data).equals(rawBytes(data))).toBe(true);
  });

  it('honours maxBytes', () => {
    const bytes = encodeNpy({ data: new Float32Array(100), shape: [100] });
    expect(codeOf(() => decodeNpy(bytes, { maxBytes: 399 }))).toBe('NPY_TOO_LARGE');
    expect(decodeNpy(bytes, { maxBytes: 400 }).shape).toEqual([100]);
  });
});

describe('encodeNpy refuses', () => {
  it.each([
    ['a shape of another size', { data: new Float32Array(5), shape: [2, 3] }],
    ['a negative extent', { data: new Float32Array(0), shape: [-1, 0] }],
    ['a fractional extent', { data: new Float32Array(1), shape: [1.5] }],
    ['a NaN extent', { data: new Float32Array(1), shape: [NaN] }],
    ['another type than the data', { data: new Float32Array(1), shape: [1], dtype: 'float64' }],
    ['an unknown type', { data: new Float32Array(1), shape: [1], dtype: 'toString' }],
    ['data of no known class', { data: new Uint32Array(1), shape: [1] }],
    ['a plain list', { data: [1, 2], shape: [2] }],
    ['too many axes', { data: new Float32Array(1), shape: new Array<number>(65).fill(1) }],
  ])('%s', (_, array) => {
    expect(codeOf(() => encodeNpy(array as never))).toBe('NPY_ARGUMENT');
  });
});
