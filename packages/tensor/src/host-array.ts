import { isDType, type DType } from '@mercer/kernels';
import { describeValue, ofThisRealm } from '@mercer/options';
import { arrowArray, isArrow, type ArrowLike } from './arrow.js';
import { checkShape, formatShape, sizeOfShape } from './checked-size.js';
import { frameValues, isFrame, type FrameLike } from './data-frame.js';
import { convertStorage } from './host-convert.js';
import {
  checkLayout,
  columnMajorStrides,
  isDense,
  isRowMajor,
  rowMajorStrides,
  type Layout,
} from './layout.js';
import { MercerError } from './mercer-error.js';
import { nestedArray, type Nested } from './nested.js';
import { gather } from './strided-host.js';
import { newStorageArray, type InputTypedArray, type StorageArray } from './typed-arrays.js';

/**
 * A strided view of host memory, as the ndarray packages of npm and the .npy reader give it. `strides` or `stride` count
 * elements; without them the elements are row-major, or column-major where `fortranOrder` is true.
 */
export interface StridedSource {
  readonly data: InputTypedArray;
  readonly shape: readonly number[];
  readonly strides?: readonly number[];
  readonly stride?: readonly number[];
  readonly offset?: number;
  readonly fortranOrder?: boolean;
  /** The dtype of `data`'s elements; needed for float16 and bfloat16, which lie in a Uint16Array. */
  readonly dtype?: string;
}

/** Everything that a tensor can be made from. */
export type TensorSource = InputTypedArray | Nested | StridedSource | ArrowLike | FrameLike;

/** Host elements of a storage dtype with their layout; dense, so that they travel as one block. */
export interface HostArray extends Layout {
  readonly dtype: DType;
  /** Exactly the elements of the layout, which starts at element 0. */
  readonly data: StorageArray;
}

/** What the caller fixes. */
export interface HostArrayOptions {
  readonly shape?: readonly number[] | undefined;
  readonly dtype?: DType | undefined;
}

/**
 * Reads any source into a dense block of the wanted dtype. The block borrows the source's memory where it can.
 *
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH
 */
export function hostArray(source: unknown, options: HostArrayOptions, what: string): HostArray {
  const { data, dtype, layout } = read(source, options, what);
  const dense = isDense(layout.shape, layout.strides)
    ? block(data, layout)
    : pack(data, dtype, layout);
  const to = options.dtype ?? dtype;
  return { ...dense, dtype: to, data: finish(dense.data, dtype, to) };
}

interface ReadSource {
  readonly data: StorageArray;
  readonly dtype: DType;
  readonly layout: Layout;
}

function read(source: unknown, options: HostArrayOptions, what: string): ReadSource {
  if (ArrayBuffer.isView(source)) return readTyped(source, options, what);
  if (isArrow(source)) {
    const { data, dtype, shape, strides } = arrowArray(source, what);
    return { data, dtype, layout: reshaped({ shape, strides, offset: 0 }, options.shape, what) };
  }
  if (isStrided(source)) return readStrided(source, options, what);
  if (isFrame(source)) return read(frameValues(source, what), options, what);
  const { data, dtype, shape } = nestedArray(source, options.dtype, what);
  const layout = { shape, strides: rowMajorStrides(shape), offset: 0 };
  return { data, dtype, layout: reshaped(layout, options.shape, what) };
}

function isStrided(source: unknown): source is StridedSource {
  return (
    typeof source === 'object' &&
    source !== null &&
    'data' in source &&
    ArrayBuffer.isView(source.data) &&
    'shape' in source
  );
}

function readTyped(view: ArrayBufferView, options: HostArrayOptions, what: string): ReadSource {
  const { data, dtype } = storageOf(view, options.dtype, what);
  const shape = checkShape(options.shape ?? [data.length], what);
  if (sizeOfShape(shape) !== data.length) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: shape ${formatShape(shape)} has ${sizeOfShape(shape)} elements and the data has ${data.length}. Make them agree.`,
    );
  }
  return { data, dtype, layout: { shape, strides: rowMajorStrides(shape), offset: 0 } };
}

function readStrided(source: StridedSource, options: HostArrayOptions, what: string): ReadSource {
  const named = source.dtype !== undefined && isDType(source.dtype) ? source.dtype : undefined;
  const { data, dtype } = storageOf(source.data, named ?? options.dtype, what);
  const shape = checkShape(source.shape, what);
  const given = source.strides ?? source.stride;
  const natural = source.fortranOrder === true ? columnMajorStrides(shape) : rowMajorStrides(shape);
  const strides = given === undefined ? natural : [...given];
  const layout = { shape, strides, offset: source.offset ?? 0 };
  checkLayout(layout, data.length, what);
  return { data, dtype, layout: reshaped(layout, options.shape, what) };
}

/** An option `shape` beside a source that has one of its own: only row-major elements can take another shape. */
function reshaped(layout: Layout, shape: readonly number[] | undefined, what: string): Layout {
  if (shape === undefined) return layout;
  const wanted = checkShape(shape, what);
  if (wanted.length === layout.shape.length && wanted.every((n, i) => n === layout.shape[i])) {
    return layout;
  }
  if (
    sizeOfShape(wanted) !== sizeOfShape(layout.shape) ||
    !isRowMajor(layout.shape, layout.strides)
  ) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the data has shape ${formatShape(layout.shape)} and cannot take shape ${formatShape(wanted)}. Leave out the option, or give row-major data of that size.`,
    );
  }
  return { shape: wanted, strides: rowMajorStrides(wanted), offset: layout.offset };
}

/** The elements as they lie, where the layout covers a range of the data without gaps. */
function block(data: StorageArray, layout: Layout): Layout & { data: StorageArray } {
  const size = sizeOfShape(layout.shape);
  const part = data.subarray(layout.offset, layout.offset + size);
  return { shape: layout.shape, strides: layout.strides, offset: 0, data: part };
}

function pack(data: StorageArray, dtype: DType, layout: Layout): Layout & { data: StorageArray } {
  const out = newStorageArray(dtype, sizeOfShape(layout.shape));
  gather(data, layout, out);
  return { shape: layout.shape, strides: rowMajorStrides(layout.shape), offset: 0, data: out };
}

/** Converted to the wanted dtype; bool normalised to 0 and 1. */
function finish(data: StorageArray, from: DType, to: DType): StorageArray {
  if (from !== to) return convertStorage(data, from, to);
  if (from !== 'bool') return data;
  const flags = data as Uint8Array;
  return flags.every((flag) => flag <= 1) ? flags : flags.map((flag) => (flag === 0 ? 0 : 1));
}

/** A view whose memory was transferred, or is behind the end of its buffer, looks like an empty one. */
function assertAttached(view: ArrayBufferView, what: string): void {
  if (view.byteLength > 0 || view instanceof DataView) return;
  try {
    (view as Uint8Array).keys();
  } catch (cause) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the array is detached: its ArrayBuffer was transferred or made shorter. Pass the array that holds the data now.`,
      { cause },
    );
  }
}

/** The elements of a typed array as storage elements of the dtype they stand for. */
function storageOf(
  given: ArrayBufferView,
  wanted: DType | undefined,
  what: string,
): { data: StorageArray; dtype: DType } {
  assertAttached(given, what);
  const view = ofThisRealm(given);
  if (view instanceof Float64Array) return { data: view, dtype: 'float64' };
  if (view instanceof Float32Array) return { data: view, dtype: 'float32' };
  if (view instanceof BigInt64Array) return { data: view, dtype: 'int64' };
  if (view instanceof Int32Array) return { data: view, dtype: 'int32' };
  if (view instanceof Uint8Array || view instanceof Uint8ClampedArray) {
    const data = new Uint8Array(view.buffer, view.byteOffset, view.length);
    return { data, dtype: wanted === 'bool' ? 'bool' : 'uint8' };
  }
  if (view instanceof Int16Array || view instanceof Int8Array) {
    return { data: Int32Array.from(view), dtype: 'int32' };
  }
  if (view instanceof Uint32Array) {
    return { data: BigInt64Array.from(view, BigInt), dtype: 'int64' };
  }
  if (view instanceof BigUint64Array) {
    if (view.some((v) => v >= 2n ** 63n)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: the BigUint64Array holds a value of 2^63 or more, which int64 cannot hold. Convert it yourself.`,
      );
    }
    return { data: new BigInt64Array(view.buffer, view.byteOffset, view.length), dtype: 'int64' };
  }
  if (view instanceof Uint16Array) {
    if (wanted === 'float16' || wanted === 'bfloat16') return { data: view, dtype: wanted };
    if (wanted === undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: a Uint16Array may hold float16 bits, bfloat16 bits or numbers. Say dtype: 'float16', 'bfloat16' or, for numbers, 'int32'.`,
      );
    }
    return { data: Int32Array.from(view), dtype: 'int32' };
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(view)} has no element type that tensors know. Pass a typed array.`,
  );
}
