import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { bfloat16Bits, bfloat16ToFloat32, float16Bits, float16ToFloat32 } from './half.js';
import { MercerError } from './mercer-error.js';
import { newStorageArray, type StorageArray, type TypedArrayOf } from './typed-arrays.js';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** A number as int64 the way the cast kernels do it: truncated, saturated, NaN gives 0. */
function int64OfNumber(value: number): bigint {
  if (Number.isNaN(value)) return 0n;
  if (value >= 2 ** 63) return INT64_MAX;
  if (value <= -(2 ** 63)) return INT64_MIN;
  return BigInt(Math.trunc(value));
}

function saturated(value: number, low: number, high: number): number {
  if (Number.isNaN(value)) return 0;
  return Math.min(Math.max(Math.trunc(value), low), high);
}

/** float16 and bfloat16 overflow and round long before these differ, so the float32 in between is exact enough. */
function halfOfInt64(value: bigint, toBits: (value: number) => number): number {
  const magnitude = value < 0n ? -value : value;
  if (magnitude < 2n ** 53n) return toBits(Number(value));
  // Round to odd at the 53rd bit, so that the rounding in toBits is the only one to nearest.
  const kept = ((magnitude >> 11n) | ((magnitude & 0x7ffn) === 0n ? 0n : 1n)) << 11n;
  return toBits(Number(value < 0n ? -kept : kept));
}

/** The single rounding of an int64 to float32; Number(value) first would round twice. */
function float32OfInt64(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  if (magnitude < 2n ** 53n) return Number(value);
  const kept = ((magnitude >> 11n) | ((magnitude & 0x7ffn) === 0n ? 0n : 1n)) << 11n;
  return Number(value < 0n ? -kept : kept);
}

type FromNumber = (value: number) => number | bigint;
type FromBigint = (value: bigint) => number | bigint;

const asNumber: FromNumber = (value) => value;

/** Floating point to each dtype. */
const FROM_REAL: { readonly [D in DType]: FromNumber } = {
  float64: asNumber,
  float32: asNumber,
  float16: float16Bits,
  bfloat16: bfloat16Bits,
  int64: int64OfNumber,
  int32: (v) => saturated(v, -(2 ** 31), 2 ** 31 - 1),
  uint8: (v) => saturated(v, 0, 255),
  bool: (v) => (v !== 0 ? 1 : 0),
};

/** Integers below 2^53 to each dtype; narrower integers wrap as in two's complement. */
const FROM_INTEGER: { readonly [D in DType]: FromNumber } = {
  ...FROM_REAL,
  int64: (v) => BigInt(v),
  int32: (v) => v | 0,
  uint8: (v) => v & 255,
};

const FROM_INT64: { readonly [D in DType]: FromBigint } = {
  float64: Number,
  float32: float32OfInt64,
  float16: (v) => halfOfInt64(v, float16Bits),
  bfloat16: (v) => halfOfInt64(v, bfloat16Bits),
  int64: (v) => v,
  int32: (v) => Number(BigInt.asIntN(32, v)),
  uint8: (v) => Number(BigInt.asUintN(8, v)),
  bool: (v) => (v !== 0n ? 1 : 0),
};

/**
 * Elements of one dtype as another, with the rules of the cast kernels: floating to floating rounds once to nearest
 * even, floating to integer truncates and saturates (NaN gives 0), integer to integer wraps, to bool is `x != 0`.
 */
export function convertStorage(data: StorageArray, from: DType, to: DType): StorageArray {
  if (from === to) return data;
  const out = newStorageArray(to, data.length);
  const target = out as { [i: number]: number | bigint };
  if (from === 'int64') {
    const source = data as BigInt64Array;
    const rule = FROM_INT64[to];
    for (let i = 0; i < source.length; i++) target[i] = rule(source[i] ?? 0n);
    return out;
  }
  const source = numbersOf(data, from);
  const integer = from === 'int32' || from === 'uint8' || from === 'bool';
  const rule = (integer ? FROM_INTEGER : FROM_REAL)[to];
  for (let i = 0; i < source.length; i++) target[i] = rule(source[i] ?? 0);
  return out;
}

function numbersOf(data: StorageArray, from: DType): ArrayLike<number> {
  if (from === 'float16') return float16ToFloat32(data as Uint16Array);
  if (from === 'bfloat16') return bfloat16ToFloat32(data as Uint16Array);
  if (from === 'bool') return Uint8Array.from(data as Uint8Array, (v) => (v === 0 ? 0 : 1));
  return data as Float64Array;
}

/** Storage elements as `toTypedArray` gives them; float16 and bfloat16 become numbers. */
export function readbackOf<D extends DType>(data: StorageArray, dtype: D): TypedArrayOf<D> {
  if (dtype === 'float16') return float16ToFloat32(data as Uint16Array) as TypedArrayOf<D>;
  if (dtype === 'bfloat16') return bfloat16ToFloat32(data as Uint16Array) as TypedArrayOf<D>;
  return data as TypedArrayOf<D>;
}

/**
 * One number, bigint or boolean as the storage element of a dtype.
 *
 * @throws MercerError INVALID_ARGUMENT for another kind of value.
 */
export function storageElement(value: unknown, dtype: DType, what: string): number | bigint {
  if (typeof value === 'number') return FROM_REAL[dtype](value);
  if (typeof value === 'boolean') return FROM_INTEGER[dtype](value ? 1 : 0);
  if (typeof value === 'bigint') {
    if (value < INT64_MIN || value > INT64_MAX) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${describeValue(value)} does not fit in 64 bits. Use values from -2^63 to 2^63 - 1.`,
      );
    }
    return FROM_INT64[dtype](value);
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(value)} is not a number, bigint or boolean. Pass one of these.`,
  );
}
