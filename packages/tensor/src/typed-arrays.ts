import type { DType } from '@mercer/kernels';
import { MercerError } from './mercer-error.js';

/** The typed array in which the elements of each dtype lie in memory; float16 and bfloat16 as 16-bit patterns. */
export interface StorageArrays {
  float64: Float64Array;
  float32: Float32Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  int64: BigInt64Array;
  int32: Int32Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

/** What `toTypedArray` gives for each dtype; float16 and bfloat16 as numbers. */
export interface ReadbackArrays {
  float64: Float64Array<ArrayBuffer>;
  float32: Float32Array<ArrayBuffer>;
  float16: Float32Array<ArrayBuffer>;
  bfloat16: Float32Array<ArrayBuffer>;
  int64: BigInt64Array<ArrayBuffer>;
  int32: Int32Array<ArrayBuffer>;
  uint8: Uint8Array<ArrayBuffer>;
  bool: Uint8Array<ArrayBuffer>;
}

/** What `toTypedArray` gives for a tensor of dtype D. */
export type TypedArrayOf<D extends DType> = ReadbackArrays[D];

/** What `toTypedArray({ raw: true })` gives: float16 and bfloat16 as 16-bit patterns. */
export type RawArrayOf<D extends DType> = D extends 'float16' | 'bfloat16'
  ? Uint16Array<ArrayBuffer>
  : ReadbackArrays[D];

/** What `toNested` gives for one element. */
export type ElementOf<D extends DType> = D extends 'int64'
  ? bigint
  : D extends 'bool'
    ? boolean
    : number;

/** Arrays nested as deep as the tensor's rank, or the element itself at rank 0. */
export type NestedOf<D extends DType> = ElementOf<D> | readonly NestedOf<D>[];

/** Typed arrays that tensors are made from. */
export type InputTypedArray =
  | Float64Array
  | Float32Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray;

/** Any array of the storage kind. */
export type StorageArray = StorageArrays[DType];

const CONSTRUCTORS: { readonly [D in DType]: new (length: number) => StorageArrays[D] } = {
  float64: Float64Array,
  float32: Float32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

/**
 * A new zeroed typed array of the dtype's storage kind.
 *
 * @throws MercerError OUT_OF_MEMORY when the engine cannot make one of that length
 */
export function newStorageArray<D extends DType>(dtype: D, length: number): StorageArrays[D] {
  try {
    return new CONSTRUCTORS[dtype](length);
  } catch (cause) {
    throw new MercerError(
      'OUT_OF_MEMORY',
      `host memory: a typed array of ${length} ${dtype} elements cannot be made (${String(cause)}). Work in slices.`,
      { cause },
    );
  }
}
