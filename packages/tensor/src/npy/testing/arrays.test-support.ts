import fc from 'fast-check';
import type { NpyArrayInput } from '../npy-array.js';
import { npyDataOver, npyDTypeBytes, type NpyDType } from '../npy-dtype.js';

export const ALL_DTYPES: readonly NpyDType[] = [
  'float64',
  'float32',
  'float16',
  'int64',
  'int32',
  'uint8',
  'bool',
];

/** Arrays of every element type and order with random bytes as elements (all NaN payloads included). */
export const anyArray: fc.Arbitrary<Required<NpyArrayInput>> = fc
  .record({
    dtype: fc.constantFrom(...ALL_DTYPES),
    shape: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
    fortranOrder: fc.boolean(),
    seed: fc.integer(),
  })
  .map(({ dtype, shape, fortranOrder, seed }) => ({
    dtype,
    shape,
    fortranOrder,
    data: randomData(
      dtype,
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
  }));

/** `size` elements whose bytes come from a small generator; bool elements are 0 and 1. */
export function randomData(dtype: NpyDType, size: number, seed: number): NpyArrayInput['data'] {
  const bytes = new Uint8Array(size * npyDTypeBytes(dtype));
  let state = seed >>> 0;
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = dtype === 'bool' ? state >>> 31 : state >>> 24;
  }
  return npyDataOver(dtype, bytes.buffer, size);
}

/** The bytes behind a typed array, for comparisons that see every bit. */
export function rawBytes(data: NpyArrayInput['data']): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
