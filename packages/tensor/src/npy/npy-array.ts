import { Buffer } from 'node:buffer';
import { describeValue, own } from '@mercer/options';
import {
  isNpyDType,
  npyDataOver,
  npyDTypeBytes,
  npyDTypeOf,
  type ByteOrder,
  type NpyArrayTypes,
  type NpyDType,
} from './npy-dtype.js';
import { NpyError } from './npy-error.js';
import type { NpyHeader } from './npy-header.js';
import { runThrough } from './slices.js';
import { widenElements } from './widen-elements.js';

/**
 * An array as a .npy file holds it. `data` lists the elements in file order: the last axis runs fastest, or the first
 * when `fortranOrder` is true. float16 elements are raw bits (see `float16ToFloat32`), bool elements are 0 and 1. Files of types
 * that Mercer lacks are read as the narrowest type that holds every value: int8, int16 and uint16 as int32, uint32 and uint64 as
 * int64 (a uint64 value above 2^63 - 1 is refused).
 */
export interface NpyArray<D extends NpyDType = NpyDType> {
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly fortranOrder: boolean;
  readonly data: NpyArrayTypes[D];
}

/** What the writers take: as an NpyArray, with `dtype` (the typed array's own) and `fortranOrder` (false) optional. */
export interface NpyArrayInput {
  readonly data: NpyArrayTypes[NpyDType];
  readonly shape: readonly number[];
  readonly dtype?: NpyDType;
  readonly fortranOrder?: boolean;
}

/** Steps of the axes in elements, so that an array can be handed on without a copy whatever its order. */
export function npyStrides(array: Pick<NpyArray, 'shape' | 'fortranOrder'>): number[] {
  const strides = new Array<number>(array.shape.length).fill(0);
  let step = 1;
  for (let i = 0; i < strides.length; i++) {
    const axis = array.fortranOrder ? i : strides.length - 1 - i;
    strides[axis] = step;
    step *= array.shape[axis] ?? 1;
  }
  return strides;
}

/** Memory for the elements of `header`, after checking them against the caller's limit. */
export function allocateData(header: NpyHeader, maxBytes: number): ArrayBuffer {
  if (typeof maxBytes !== 'number' || Number.isNaN(maxBytes)) {
    throw new NpyError(
      'NPY_ARGUMENT',
      `Cannot read the array: maxBytes is ${describeValue(maxBytes)}. Pass a number of bytes.`,
    );
  }
  const shape = `shape (${header.shape.join(', ')}) of ${header.dtype}`;
  if (header.memoryBytes > maxBytes) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot read the array: ${shape} is ${header.memoryBytes} bytes and the limit is ${maxBytes}. Raise the option maxBytes if the file is trusted.`,
    );
  }
  try {
    return new ArrayBuffer(header.memoryBytes);
  } catch (cause) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot read the array: ${shape} needs one buffer of ${header.memoryBytes} bytes, which this process cannot allocate. ` +
        'Use a machine with more memory or split the array.',
      { cause },
    );
  }
}

/** Where the bytes of the file go before `finishSteps`: the end of the elements' memory. */
export function storedBytes(header: NpyHeader, buffer: ArrayBuffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer, buffer.byteLength - header.dataBytes);
}

/**
 * Makes the array of a filled buffer, in steps of a millisecond or so: elements in the machine's byte order and of their type here,
 * bool normalised to 0 and 1.
 */
export function* finishSteps(header: NpyHeader, buffer: ArrayBuffer): Generator<void, NpyArray> {
  const { dtype, stored, shape, fortranOrder, size } = header;
  if (header.order === 'big') yield* swapSteps(storedBytes(header, buffer), stored.bytes);
  yield* widenElements(stored, buffer, size);
  const data = npyDataOver(dtype, buffer, size);
  if (dtype === 'bool') {
    for (let at = 0; at < size; at += STEP_BYTES) {
      normaliseFlags(data.subarray(at, at + STEP_BYTES) as Uint8Array);
      yield;
    }
  }
  return { dtype, shape, fortranOrder, data };
}

const STEP_BYTES = 2 ** 20;

/** Reverses the bytes of every element in place, a piece for each step. */
function* swapSteps(
  { buffer, byteOffset, byteLength }: Uint8Array,
  elementBytes: 1 | 2 | 4 | 8,
): Generator<void> {
  if (elementBytes === 1) return;
  for (let at = 0; at < byteLength; at += STEP_BYTES) {
    const piece = Buffer.from(buffer, byteOffset + at, Math.min(STEP_BYTES, byteLength - at));
    if (elementBytes === 2) piece.swap16();
    else if (elementBytes === 4) piece.swap32();
    else piece.swap64();
    yield;
  }
}

function normaliseFlags(flags: Uint8Array): void {
  for (let i = 0; i < flags.length; i++) flags[i] = flags[i] === 0 ? 0 : 1;
}

/** Checks a caller's array before anything is written; returns it with every default filled in. */
export function checkArrayInput(given: NpyArrayInput): NpyArray {
  const input = own(given, 'data', 'shape', 'dtype', 'fortranOrder');
  const natural = npyDTypeOf(input.data);
  const dtype = input.dtype ?? natural;
  const fits = dtype === natural || (dtype === 'bool' && natural === 'uint8');
  if (!isNpyDType(dtype) || !fits) {
    throw argument(`elements of type '${dtype}' do not live in a ${input.data.constructor.name}`);
  }
  const { shape } = input;
  if (shape.length > 64) throw argument(`${shape.length} axes are more than the 64 of the format`);
  for (const extent of shape) {
    if (!Number.isSafeInteger(extent) || extent < 0) {
      throw argument(`extent ${extent} of shape (${shape.join(', ')}) is no count`);
    }
  }
  const size = shape.reduce((product, extent) => product * BigInt(extent), 1n);
  if (size !== BigInt(input.data.length)) {
    throw argument(
      `shape (${shape.join(', ')}) has ${size} elements and the data has ${input.data.length}`,
    );
  }
  return { dtype, shape: [...shape], fortranOrder: input.fortranOrder ?? false, data: input.data };
}

/** The element bytes of an array in pieces that take a millisecond or so, in the byte order asked for. */
export function* dataPieces(array: NpyArray, order: ByteOrder): Generator<Uint8Array> {
  const { buffer, byteOffset, byteLength } = array.data;
  const elementBytes = npyDTypeBytes(array.dtype);
  for (let at = 0; at < byteLength; at += STEP_BYTES) {
    const length = Math.min(STEP_BYTES, byteLength - at);
    const piece = new Uint8Array(buffer, byteOffset + at, length);
    if (array.dtype !== 'bool' && (order === 'little' || elementBytes === 1)) {
      yield piece;
      continue;
    }
    const copy = new Uint8Array(piece);
    if (array.dtype === 'bool') normaliseFlags(copy);
    else runThrough(swapSteps(copy, elementBytes));
    yield copy;
  }
}

function argument(why: string): NpyError {
  return new NpyError(
    'NPY_ARGUMENT',
    `Cannot write the array: ${why}. Pass data, shape and dtype that agree.`,
  );
}
