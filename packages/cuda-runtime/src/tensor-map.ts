import { misuse } from './errors.js';
import { requireDriver } from './library/open-libraries.js';

const dtypes = {
  uint8: 0,
  uint16: 1,
  uint32: 2,
  int32: 3,
  uint64: 4,
  int64: 5,
  float16: 6,
  float32: 7,
  float64: 8,
  bfloat16: 9,
  float32Ftz: 10,
  tfloat32: 11,
  tfloat32Ftz: 12,
} as const;
const interleaves = { none: 0, '16B': 1, '32B': 2 } as const;
const swizzles = { none: 0, '32B': 1, '64B': 2, '128B': 3 } as const;
const promotions = { none: 0, '64B': 1, '128B': 2, '256B': 3 } as const;
const fills = { zero: 0, nan: 1 } as const;

/** A tiled view of device memory that the bulk copy engine understands. Dimension 0 is contiguous. */
export interface TensorMapOptions {
  readonly dtype: keyof typeof dtypes;
  /** 1 to 5. */
  readonly rank: number;
  /** Device address, 16-byte aligned. */
  readonly address: bigint;
  /** Elements per dimension, fastest first. */
  readonly sizes: readonly number[];
  /** Bytes from one element to the next in dimensions 1 and up (rank - 1 numbers, multiples of 16). */
  readonly strideBytes: readonly number[];
  /** Elements of the box that one copy moves, per dimension (at most 256). */
  readonly box: readonly number[];
  /** Steps inside the box; default all 1. */
  readonly elementStrides?: readonly number[];
  readonly interleave?: keyof typeof interleaves;
  readonly swizzle?: keyof typeof swizzles;
  readonly l2Promotion?: keyof typeof promotions;
  /** What is read outside the tensor. */
  readonly oobFill?: keyof typeof fills;
}

/** Encodes a tensor map: 128 bytes to pass by value in a `__grid_constant__` parameter aligned to 64. */
export function encodeTensorMap(options: TensorMapOptions): Uint8Array {
  const { rank, sizes, strideBytes, box } = options;
  const elementStrides = options.elementStrides ?? sizes.map(() => 1);
  const lengths = [sizes.length, strideBytes.length + 1, box.length, elementStrides.length];
  if (
    !Number.isInteger(rank) ||
    rank < 1 ||
    rank > 5 ||
    lengths.some((length) => length !== rank)
  ) {
    throw misuse(
      'INVALID_ARGUMENT',
      `A tensor map of rank ${String(rank)} needs a rank from 1 to 5, as many sizes, box and element strides, and one ` +
        `stride less; got ${String(sizes.length)} sizes, ${String(strideBytes.length)} strides, ${String(box.length)} box ` +
        `extents and ${String(elementStrides.length)} element strides.`,
    );
  }
  return requireDriver().tensorMapEncode(
    dtypes[options.dtype],
    options.address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strideBytes, BigInt),
    Uint32Array.from(box),
    Uint32Array.from(elementStrides),
    interleaves[options.interleave ?? 'none'],
    swizzles[options.swizzle ?? 'none'],
    promotions[options.l2Promotion ?? 'none'],
    fills[options.oobFill ?? 'zero'],
  );
}
