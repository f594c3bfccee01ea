import { describeValue, ofThisRealm } from '@mercer/options';
import { NpyError } from './npy-error.js';
import { quoted } from './printable.js';

/** Element types of arrays here, and of the files that are written; every one is a Mercer dtype of the same name. */
export type NpyDType = 'float64' | 'float32' | 'float16' | 'int64' | 'int32' | 'uint8' | 'bool';

/** The typed array that holds each element type: float16 as raw bits, bool as 0 and 1. */
export interface NpyArrayTypes {
  float64: Float64Array;
  float32: Float32Array;
  float16: Uint16Array;
  int64: BigInt64Array;
  int32: Int32Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

/** Any typed array that the codec reads into or writes from. */
export type NpyData = NpyArrayTypes[NpyDType];

/** Element types of files that are read as the narrowest type here which holds every value of theirs. */
export type WidenedType = 'int8' | 'int16' | 'uint16' | 'uint32' | 'uint64';

/** How the elements lie in a file, and what they are read as. */
export interface StoredType {
  readonly dtype: NpyDType;
  /** The type in the file, where it is not `dtype`. */
  readonly widened: WidenedType | undefined;
  /** Of one element in the file. */
  readonly bytes: 1 | 2 | 4 | 8;
}

/** Byte order of the elements in a file. */
export type ByteOrder = 'little' | 'big';

interface DTypeEntry {
  readonly code: string;
  readonly bytes: 1 | 2 | 4 | 8;
  make(buffer: ArrayBuffer, length: number): NpyData;
}

const TABLE: { readonly [D in NpyDType]: DTypeEntry } = {
  float64: { code: 'f8', bytes: 8, make: (b, n) => new Float64Array(b, 0, n) },
  float32: { code: 'f4', bytes: 4, make: (b, n) => new Float32Array(b, 0, n) },
  float16: { code: 'f2', bytes: 2, make: (b, n) => new Uint16Array(b, 0, n) },
  int64: { code: 'i8', bytes: 8, make: (b, n) => new BigInt64Array(b, 0, n) },
  int32: { code: 'i4', bytes: 4, make: (b, n) => new Int32Array(b, 0, n) },
  uint8: { code: 'u1', bytes: 1, make: (b, n) => new Uint8Array(b, 0, n) },
  bool: { code: 'b1', bytes: 1, make: (b, n) => new Uint8Array(b, 0, n) },
};

const DTYPES = Object.keys(TABLE) as NpyDType[];

const WIDENED: {
  readonly [T in WidenedType]: StoredType & { readonly widened: T; readonly code: string };
} = {
  int8: { widened: 'int8', code: 'i1', bytes: 1, dtype: 'int32' },
  int16: { widened: 'int16', code: 'i2', bytes: 2, dtype: 'int32' },
  uint16: { widened: 'uint16', code: 'u2', bytes: 2, dtype: 'int32' },
  uint32: { widened: 'uint32', code: 'u4', bytes: 4, dtype: 'int64' },
  uint64: { widened: 'uint64', code: 'u8', bytes: 8, dtype: 'int64' },
};

const BY_CODE = new Map<string, StoredType>([
  ...DTYPES.map(
    (dtype) =>
      [TABLE[dtype].code, { dtype, bytes: TABLE[dtype].bytes, widened: undefined }] as const,
  ),
  ...Object.values(WIDENED).map(({ code, ...type }) => [code, type] as const),
]);
const READ_TYPES = [...DTYPES, ...Object.keys(WIDENED)].join(', ');

/** True when `name` is an element type that .npy files can carry here. */
export function isNpyDType(name: string): name is NpyDType {
  return Object.hasOwn(TABLE, name);
}

/** Bytes of one element. */
export function npyDTypeBytes(dtype: NpyDType): 1 | 2 | 4 | 8 {
  return TABLE[dtype].bytes;
}

/** A typed array of `length` elements over the start of `buffer`. */
export function npyDataOver(dtype: NpyDType, buffer: ArrayBuffer, length: number): NpyData {
  return TABLE[dtype].make(buffer, length);
}

/** The element type that a typed array is written as when none is named. */
export function npyDTypeOf(given: NpyData): NpyDType {
  const data = ofThisRealm(given);
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Uint16Array) return 'float16';
  if (data instanceof BigInt64Array) return 'int64';
  if (data instanceof Int32Array) return 'int32';
  if (data instanceof Uint8Array) return 'uint8';
  throw new NpyError(
    'NPY_ARGUMENT',
    `Cannot write this array as .npy: ${describeValue(data)} has no element type in ${DTYPES.join(', ')}. ` +
      'Pass one of the matching typed arrays.',
  );
}

/** The array-protocol text of a type, such as `<f4` or `|b1`. */
export function formatDescr(dtype: NpyDType, order: ByteOrder): string {
  const { code, bytes } = TABLE[dtype];
  return (bytes === 1 ? '|' : order === 'little' ? '<' : '>') + code;
}

/** Reads an array-protocol text; refuses what is no plain number type of the table. */
export function parseDescr(descr: string): { stored: StoredType; order: ByteOrder } {
  const match = /^([<>|=])([A-Za-z])(\d{0,6})$/.exec(descr);
  const shown = quoted(descr);
  if (match === null) {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      `Cannot read the array: its element type ${shown} is not a plain number type. ` +
        `Save it as one of ${READ_TYPES}, for example with numpy.save(path, array.astype('float32')).`,
    );
  }
  const [, prefix = '', kind = '', size = ''] = match;
  if (kind === 'O') {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      'Cannot read the array: it holds Python objects (pickle), which can run code when loaded and are never read. ' +
        'Save it with a number type instead.',
    );
  }
  const stored = BY_CODE.get(kind + size);
  if (stored === undefined || (prefix === '|' && stored.bytes > 1)) {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      `Cannot read the array: element type ${shown} is not one of ${READ_TYPES}. ` +
        `Convert it first, for example with numpy.save(path, array.astype('float32')).`,
    );
  }
  return { stored, order: prefix === '>' ? 'big' : 'little' };
}
