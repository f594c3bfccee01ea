import type { OptionNames } from '@mercer/options';
import {
  allocateData,
  checkArrayInput,
  dataPieces,
  finishSteps,
  storedBytes,
  type NpyArray,
  type NpyArrayInput,
} from './npy-array.js';
import type { ByteOrder } from './npy-dtype.js';
import { NpyError } from './npy-error.js';
import { encodeNpyHeader, parseNpyHeader, type NpyHeader } from './npy-header.js';
import { readOptions } from './read-options.js';
import { runThrough } from './slices.js';
import type { Watch } from './watch.js';

/** Limits on what a reader accepts. */
export interface NpyReadOptions {
  /** Most bytes of elements that one array may have in memory. Unlimited (what the file really holds) by default. */
  readonly maxBytes?: number;
}

/** Names of {@link NpyReadOptions}. */
export const NPY_READ_OPTIONS: OptionNames<NpyReadOptions> = { maxBytes: true };

/** How an array is laid down. */
export interface NpyWriteOptions {
  /** Byte order in the file; little by default. */
  readonly byteOrder?: ByteOrder;
}

/** Names of {@link NpyWriteOptions}. */
export const NPY_WRITE_OPTIONS: OptionNames<NpyWriteOptions> = { byteOrder: true };

/**
 * Reads the bytes of a whole .npy file, at once; `readNpy` does the same and lets the event loop go on. The elements are copied, so
 * the result owns its memory. Elements of types that Mercer lacks are widened, see `NpyArray`.
 * Throws NpyError: `NPY_INVALID`, `NPY_UNSUPPORTED`, `NPY_TRUNCATED`, `NPY_TOO_LARGE`.
 *
 * ```ts
 * import { decodeNpy, encodeNpy } from '@mercer/tensor/npy';
 * const bytes = encodeNpy({ data: new Float32Array([1, 2, 3, 4, 5, 6]), shape: [2, 3] });
 * const { dtype, shape } = decodeNpy(bytes);
 * console.log(dtype, shape); // float32 [ 2, 3 ]
 * ```
 */
export function decodeNpy(bytes: Uint8Array, options?: NpyReadOptions): NpyArray {
  const { maxBytes = Infinity } = readOptions('decodeNpy', options, NPY_READ_OPTIONS);
  const header = parseNpyHeader(bytes);
  checkFileBytes(header, bytes.length);
  const buffer = allocateData(header, maxBytes);
  storedBytes(header, buffer).set(bytes.subarray(header.dataOffset));
  return runThrough(finishSteps(header, buffer));
}

/**
 * The bytes of a .npy file that holds `array`. Throws NpyError `NPY_ARGUMENT` when shape, dtype and data disagree.
 */
export function encodeNpy(array: NpyArrayInput, options?: NpyWriteOptions): Uint8Array {
  const given = readOptions('encodeNpy', options, NPY_WRITE_OPTIONS);
  const pieces = [...npyFilePieces(array, given)];
  const bytes = new Uint8Array(pieces.reduce((total, piece) => total + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** The same bytes in pieces of at most 1 MiB; the array is checked before the first one. Elements are counted once the next piece is asked for. */
export function npyFilePieces(
  input: NpyArrayInput,
  options: NpyWriteOptions,
  watch?: Watch,
): Iterable<Uint8Array> {
  const array = checkArrayInput(input);
  const order = options.byteOrder ?? 'little';
  const header = encodeNpyHeader(array.dtype, array.shape, array.fortranOrder, order);
  return (function* () {
    yield header;
    for (const piece of dataPieces(array, order)) {
      const bytes = piece.length;
      yield piece;
      watch?.advance(bytes);
    }
  })();
}

/** Compares what a header promises with the bytes that are there; both too few and too many are refused. */
export function checkFileBytes(header: NpyHeader, fileBytes: number): void {
  const there = fileBytes - header.dataOffset;
  if (there === header.dataBytes) return;
  const claim = `shape (${header.shape.join(', ')}) of ${header.stored.widened ?? header.dtype} is ${header.dataBytes} bytes and ${there} follow the header`;
  if (there < header.dataBytes) {
    throw new NpyError(
      'NPY_TRUNCATED',
      `Cannot read the array: ${claim}. The file is cut short or its header lies; write it again.`,
    );
  }
  throw new NpyError(
    'NPY_INVALID',
    `Cannot read the array: ${claim}. The surplus is not explained by the header; write one array a file.`,
  );
}
