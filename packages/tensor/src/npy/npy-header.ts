import { Buffer } from 'node:buffer';
import { parseHeaderLiteral } from './header-literal.js';
import {
  formatDescr,
  npyDTypeBytes,
  parseDescr,
  type ByteOrder,
  type NpyDType,
  type StoredType,
} from './npy-dtype.js';
import { NpyError } from './npy-error.js';

/** What a .npy header says, checked: every number is safe to use in size arithmetic. */
export interface NpyHeader {
  /** What the elements are read as. */
  readonly dtype: NpyDType;
  readonly stored: StoredType;
  readonly order: ByteOrder;
  readonly fortranOrder: boolean;
  readonly shape: readonly number[];
  /** Number of elements, at most 2^53 - 1. */
  readonly size: number;
  /** Bytes of the elements in the file, at most those in memory. */
  readonly dataBytes: number;
  /** Bytes of the elements in memory, at most 2^53 - 1. */
  readonly memoryBytes: number;
  /** Where the elements begin, in bytes from the start of the file. */
  readonly dataOffset: number;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
/** Bytes that say how long the header is: magic, version, and a length of two or four bytes. */
export const NPY_PREFIX_BYTES = 12;
/** Longest header text that is read; numpy's own limit for trusted plain headers is 10,000. */
const MAX_HEADER_BYTES = 65536;
const ALIGNMENT = 64;

/**
 * Bytes from the start of the file to the first element, found from its first `NPY_PREFIX_BYTES` bytes.
 * Throws NpyError for a wrong magic or version, or a header text longer than 64 KiB.
 */
export function npyDataOffset(prefix: Uint8Array): number {
  if (prefix.length < 10) {
    throw new NpyError(
      'NPY_TRUNCATED',
      `Cannot read the .npy data: it ends after ${prefix.length} bytes, before the header. Write the file again.`,
    );
  }
  if (MAGIC.some((byte, i) => prefix[i] !== byte)) {
    throw new NpyError(
      'NPY_INVALID',
      'Cannot read the .npy data: it does not begin with the .npy signature. ' +
        'Pass a file written by numpy.save or by this library (a .npz archive has its own reader).',
    );
  }
  const [major = 0, minor = 0] = [prefix[6], prefix[7]];
  if (major < 1 || major > 3 || minor !== 0) {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      `Cannot read the .npy data: format version ${major}.${minor} is unknown (1.0, 2.0 and 3.0 are read). Save it again with numpy.save.`,
    );
  }
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  const lengthBytes = major === 1 ? 2 : 4;
  if (prefix.length < 8 + lengthBytes) {
    throw new NpyError(
      'NPY_TRUNCATED',
      `Cannot read the .npy data: it ends after ${prefix.length} bytes, inside the header. Write the file again.`,
    );
  }
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MAX_HEADER_BYTES) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot read the .npy data: its header claims ${length} bytes and at most ${MAX_HEADER_BYTES} are read. ` +
        'The file is damaged or hostile.',
    );
  }
  return 8 + lengthBytes + length;
}

/**
 * Reads and checks the header in the first bytes of a file. `bytes` must hold at least `npyDataOffset(bytes)` bytes.
 * Nothing is allocated for the data here; sizes are computed exactly before they become numbers.
 */
export function parseNpyHeader(bytes: Uint8Array): NpyHeader {
  const dataOffset = npyDataOffset(bytes.subarray(0, NPY_PREFIX_BYTES));
  if (bytes.length < dataOffset) {
    throw new NpyError(
      'NPY_TRUNCATED',
      `Cannot read the .npy data: it ends after ${bytes.length} bytes and the header alone needs ${dataOffset}. Write the file again.`,
    );
  }
  const textStart = bytes[6] === 1 ? 10 : 12;
  const literal = parseHeaderLiteral(asciiText(bytes.subarray(textStart, dataOffset)));
  const { stored, order } = parseDescr(literal.descr);
  const { dtype } = stored;
  const size = literal.shape.reduce((product, extent) => product * extent, 1n);
  const memoryBytes = size * BigInt(npyDTypeBytes(dtype));
  const largest = literal.shape.reduce((max, extent) => (extent > max ? extent : max), 0n);
  if (memoryBytes > BigInt(Number.MAX_SAFE_INTEGER) || largest > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot read the .npy data: shape (${literal.shape.join(', ')}) of ${dtype} is ${memoryBytes} bytes, more than any machine addresses. ` +
        'The file is damaged or hostile.',
    );
  }
  return {
    dtype,
    stored,
    order,
    fortranOrder: literal.fortranOrder,
    shape: literal.shape.map(Number),
    size: Number(size),
    dataBytes: Number(size) * stored.bytes,
    memoryBytes: Number(memoryBytes),
    dataOffset,
  };
}

function asciiText(bytes: Uint8Array): string {
  if (bytes.some((byte) => byte > 0x7e || (byte < 0x20 && byte !== 0x0a && byte !== 0x09))) {
    throw new NpyError(
      'NPY_INVALID',
      'Cannot read the .npy header: it holds bytes that no plain number array has. The file is damaged, or its element type is structured.',
    );
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/**
 * The header bytes of an array, padded so that the data begins at a multiple of 64 bytes.
 * Always version 1.0: with at most 64 axes the text is far below its limit of 65,535 bytes.
 */
export function encodeNpyHeader(
  dtype: NpyDType,
  shape: readonly number[],
  fortranOrder: boolean,
  order: ByteOrder = 'little',
): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const text = `{'descr': '${formatDescr(dtype, order)}', 'fortran_order': ${fortranOrder ? 'True' : 'False'}, 'shape': ${tuple}, }`;
  const total = Math.ceil((10 + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const bytes = new Uint8Array(total).fill(0x20);
  bytes.set([...MAGIC, 1, 0]);
  new DataView(bytes.buffer).setUint16(8, total - 10, true);
  for (let i = 0; i < text.length; i++) bytes[10 + i] = text.charCodeAt(i);
  bytes[total - 1] = 0x0a;
  return bytes;
}
