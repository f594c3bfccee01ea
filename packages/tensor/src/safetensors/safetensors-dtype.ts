import type { NpyArrayTypes, NpyDType, StoredType } from '../npy/npy-dtype.js';

/** Element types of arrays: those of .npy files, and bfloat16. */
export type SafetensorsDType = NpyDType | 'bfloat16';

/** The typed array that holds each element type: float16 and bfloat16 as raw bits, bool as 0 and 1. */
export interface SafetensorsArrayTypes extends NpyArrayTypes {
  bfloat16: Uint16Array;
}

/** A row-major array of a file, which `tensor()` takes as it is. */
export interface SafetensorsArray<D extends SafetensorsDType = SafetensorsDType> {
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly data: SafetensorsArrayTypes[D];
}

/** What is written: row-major elements; `dtype` is the typed array's own by default, float16 for a Uint16Array. */
export interface SafetensorsInput {
  readonly data: SafetensorsArrayTypes[SafetensorsDType];
  readonly shape: readonly number[];
  readonly dtype?: SafetensorsDType;
}

/** The format's name of each element type that is written. */
export const FORMAT_NAMES: { readonly [D in SafetensorsDType]: string } = {
  float64: 'F64',
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
  int64: 'I64',
  int32: 'I32',
  uint8: 'U8',
  bool: 'BOOL',
};

/** How the elements of a type of the format lie in a file. */
export interface FormatType {
  readonly dtype: SafetensorsDType;
  /** As of a .npy file; bfloat16 has the bits of a float16. */
  readonly stored: StoredType;
}

const same = (dtype: NpyDType, bytes: StoredType['bytes']): FormatType => ({
  dtype,
  stored: { dtype, widened: undefined, bytes },
});
const widened = (
  type: NonNullable<StoredType['widened']>,
  dtype: NpyDType,
  bytes: StoredType['bytes'],
): FormatType => ({ dtype, stored: { dtype, widened: type, bytes } });

/** Types that are read, by the format's name: those that Mercer lacks as the narrowest that holds every value of theirs. */
export const FORMAT_TYPES: ReadonlyMap<string, FormatType> = new Map([
  ['F64', same('float64', 8)],
  ['F32', same('float32', 4)],
  ['F16', same('float16', 2)],
  ['BF16', { ...same('float16', 2), dtype: 'bfloat16' }],
  ['I64', same('int64', 8)],
  ['I32', same('int32', 4)],
  ['U8', same('uint8', 1)],
  ['BOOL', same('bool', 1)],
  ['I8', widened('int8', 'int32', 1)],
  ['I16', widened('int16', 'int32', 2)],
  ['U16', widened('uint16', 'int32', 2)],
  ['U32', widened('uint32', 'int64', 4)],
  ['U64', widened('uint64', 'int64', 8)],
]);
