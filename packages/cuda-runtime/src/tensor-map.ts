import { describeValue, type OptionNames } from '@mercer/options';
import { codeOf } from './code-of.js';
import { misuse } from './errors.js';
import { requireDriver } from './library/open-libraries.js';
import { readOptions } from './read-options.js';

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

const TENSOR_MAP: OptionNames<TensorMapOptions> = {
  dtype: true,
  rank: true,
  address: true,
  sizes: true,
  strideBytes: true,
  box: true,
  elementStrides: true,
  interleave: true,
  swizzle: true,
  l2Promotion: true,
  oobFill: true,
};

/**
 * Encodes a tensor map: 128 bytes to pass by value in a `__grid_constant__` parameter aligned to 64.
 *
 * @see cuTensorMapEncodeTiled: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TENSOR__MEMORY.html
 */
export function encodeTensorMap(options: TensorMapOptions): Uint8Array {
  const read = readOptions('encodeTensorMap', options, TENSOR_MAP);
  const { rank, address, interleave = 'none', swizzle = 'none' } = read;
  const { l2Promotion = 'none', oobFill = 'zero' } = read;
  const sizes = wholeNumbers(read.sizes, 'sizes');
  const strideBytes = wholeNumbers(read.strideBytes, 'strideBytes');
  const box = wholeNumbers(read.box, 'box');
  const elementStrides =
    read.elementStrides === undefined
      ? sizes.map(() => 1)
      : wholeNumbers(read.elementStrides, 'elementStrides');
  const lengths = [sizes.length, strideBytes.length + 1, box.length, elementStrides.length];
  if (
    !Number.isInteger(rank) ||
    rank < 1 ||
    rank > 5 ||
    lengths.some((length) => length !== rank)
  ) {
    throw misuse(
      'INVALID_ARGUMENT',
      `A tensor map of rank ${describeValue(rank)} needs a rank from 1 to 5, as many sizes, box and element strides, and one ` +
        `stride less; got ${sizes.length} sizes, ${strideBytes.length} strides, ${box.length} box ` +
        `extents and ${elementStrides.length} element strides.`,
    );
  }
  if (typeof address !== 'bigint') {
    throw misuse(
      'INVALID_ARGUMENT',
      `The address of a tensor map is ${describeValue(address)}. Pass the bigint that DeviceBuffer.address is.`,
    );
  }
  return requireDriver().tensorMapEncode(
    codeOf(dtypes, read.dtype, 'The dtype'),
    address,
    BigUint64Array.from(sizes, BigInt),
    BigUint64Array.from(strideBytes, BigInt),
    Uint32Array.from(box),
    Uint32Array.from(elementStrides),
    codeOf(interleaves, interleave, 'interleave'),
    codeOf(swizzles, swizzle, 'swizzle'),
    codeOf(promotions, l2Promotion, 'l2Promotion'),
    codeOf(fills, oobFill, 'oobFill'),
  );
}

function wholeNumbers(values: readonly number[], name: string): readonly number[] {
  const list: unknown = values;
  if (Array.isArray(list) && list.every((value) => Number.isSafeInteger(value) && value >= 0)) {
    return values;
  }
  throw misuse(
    'INVALID_ARGUMENT',
    `${name} of a tensor map is ${describeValue(list)}. Pass an array of whole numbers of at least 0.`,
  );
}
