import { describeValue } from '@mercer/options';
import { NpyError } from '../npy/npy-error.js';
import type { NpyHeader } from '../npy/npy-header.js';
import { npyDTypeBytes } from '../npy/npy-dtype.js';
import { quoted } from '../npy/printable.js';
import { repeatedKey } from './json-keys.js';
import { FORMAT_TYPES, type SafetensorsDType } from './safetensors-dtype.js';

/** Bytes that say how long the header is. */
export const LENGTH_BYTES = 8;
/** The format's limit. */
const MAX_HEADER_BYTES = 100_000_000;
const MAX_AXES = 64;
const METADATA = '__metadata__';

/** An array as the header describes it. */
export interface HeaderEntry {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  /** As the header of a .npy file with these elements would be. */
  readonly header: NpyHeader;
}

/** A header, checked. */
export interface SafetensorsHeader {
  readonly entries: readonly HeaderEntry[];
  readonly metadata: ReadonlyMap<string, string>;
}

/** The length of the header, of a file of so many bytes. @throws NpyError */
export function headerLength(prefix: Uint8Array, fileBytes: number): number {
  if (prefix.length < LENGTH_BYTES) {
    throw invalid('NPY_TRUNCATED', `it has ${fileBytes} bytes and begins with a length of 8`);
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES)) {
    throw invalid(
      'NPY_TOO_LARGE',
      `its header is said to have ${length} bytes, and the format ends at ${MAX_HEADER_BYTES}`,
    );
  }
  if (length > BigInt(fileBytes - LENGTH_BYTES)) {
    throw invalid(
      'NPY_TRUNCATED',
      `its header is said to have ${length} bytes and ${fileBytes - LENGTH_BYTES} are there`,
    );
  }
  return Number(length);
}

/** Reads the text of a header. Every size is checked against the bytes that follow: no hole, no overlap, nothing left. @throws NpyError */
export function parseHeader(text: Uint8Array, fileBytes: number): SafetensorsHeader {
  const dataOffset = LENGTH_BYTES + text.length;
  const object = jsonObject(text);
  const { [METADATA]: metadata, ...described } = object;
  const entries = Object.entries(described).map(([name, value]) =>
    entryOf(name, value, dataOffset),
  );
  checkPlaces(entries, dataOffset, fileBytes);
  return { entries, metadata: metadataOf(metadata) };
}

function jsonObject(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('NPY_INVALID', 'its header is no JSON', cause);
  }
  if (!text.startsWith('{') || !isObject(value)) {
    throw invalid('NPY_INVALID', 'its header is no JSON object');
  }
  const key = repeatedKey(text);
  if (key === undefined) return value;
  throw invalid('NPY_INVALID', `its header names ${quoted(key)} twice`);
}

function metadataOf(value: unknown): ReadonlyMap<string, string> {
  if (value === undefined) return new Map();
  const pairs = isObject(value) ? Object.entries(value) : [];
  if (
    isObject(value) &&
    pairs.every((pair): pair is [string, string] => typeof pair[1] === 'string')
  )
    return new Map(pairs);
  throw invalid('NPY_INVALID', `its ${METADATA} is not an object of texts`);
}

function entryOf(name: string, value: unknown, dataOffset: number): HeaderEntry {
  const array = quoted(name);
  const keys = isObject(value) ? Object.keys(value).sort().join() : '';
  if (!isObject(value) || keys !== 'data_offsets,dtype,shape') {
    throw invalid('NPY_INVALID', `array ${array} has not exactly dtype, shape and data_offsets`);
  }
  const { dtype: type, shape, data_offsets: offsets } = value;
  const found = FORMAT_TYPES.get(type as string);
  if (found === undefined) {
    throw invalid(
      'NPY_UNSUPPORTED',
      `array ${array} has the type ${typeof type === 'string' ? quoted(type) : describeValue(type)}, which is none of ${[...FORMAT_TYPES.keys()].join(', ')}`,
    );
  }
  if (!isCounts(shape) || shape.length > MAX_AXES) {
    throw invalid('NPY_INVALID', `array ${array} has no shape of at most ${MAX_AXES} counts`);
  }
  if (!isCounts(offsets) || offsets.length !== 2) {
    throw invalid('NPY_INVALID', `array ${array} has no data_offsets of two counts`);
  }
  const [begin = 0, end = 0] = offsets;
  const { dtype, stored } = found;
  const size = shape.reduce((product, extent) => product * BigInt(extent), 1n);
  if (size * BigInt(stored.bytes) !== BigInt(end) - BigInt(begin)) {
    throw invalid(
      'NPY_INVALID',
      `array ${array} of shape (${shape.join(', ')}) has ${size} elements of ${stored.bytes} bytes and data_offsets ${begin} to ${end}`,
    );
  }
  const count = Number(size);
  return {
    name,
    dtype,
    header: {
      dtype: stored.dtype,
      stored,
      order: 'little',
      fortranOrder: false,
      shape,
      size: count,
      dataBytes: end - begin,
      memoryBytes: count * npyDTypeBytes(stored.dtype),
      dataOffset: dataOffset + begin,
    },
  };
}

/** Arrays follow each other from the header to the end of the file. */
function checkPlaces(entries: readonly HeaderEntry[], from: number, fileBytes: number): void {
  let at = from;
  const inOrder = [...entries].sort(
    ({ header: a }, { header: b }) => a.dataOffset - b.dataOffset || a.dataBytes - b.dataBytes,
  );
  for (const { name, header } of inOrder) {
    if (header.dataOffset !== at) {
      const what =
        header.dataOffset < at ? 'overlaps the one before it' : 'leaves a hole before it';
      throw invalid('NPY_INVALID', `array ${quoted(name)} ${what}`);
    }
    at += header.dataBytes;
  }
  if (at > fileBytes) {
    throw invalid('NPY_TRUNCATED', `its arrays end at byte ${at} and it has ${fileBytes}`);
  }
  if (at < fileBytes) {
    throw invalid('NPY_INVALID', `${fileBytes - at} bytes behind its arrays belong to none`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCounts = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((one) => Number.isSafeInteger(one) && (one as number) >= 0);

function invalid(code: NpyError['code'], why: string, cause?: unknown): NpyError {
  return new NpyError(
    code,
    `Cannot read the file as .safetensors: ${why}. It is damaged, hostile or of another format; write it again.`,
    cause === undefined ? undefined : { cause },
  );
}
