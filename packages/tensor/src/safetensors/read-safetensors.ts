import type { OptionNames } from '@mercer/options';
import { withSource, type ByteSource } from '../npy/byte-source.js';
import { allocateData, finishSteps, storedBytes } from '../npy/npy-array.js';
import { NPY_READ_OPTIONS, type NpyReadOptions } from '../npy/npy-codec.js';
import { NpyError } from '../npy/npy-error.js';
import { quoted } from '../npy/printable.js';
import { readOptions } from '../npy/read-options.js';
import { runInSlices } from '../npy/slices.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from '../npy/watch.js';
import type { SafetensorsArray, SafetensorsDType } from './safetensors-dtype.js';
import { headerLength, LENGTH_BYTES, parseHeader, type HeaderEntry } from './safetensors-header.js';
import type { SafetensorsHeader } from './safetensors-header.js';

/** Options of `readSafetensors`. `maxBytes` is of each array. */
export interface SafetensorsReadOptions extends NpyReadOptions, WatchOptions {
  /** Arrays to read; all by default. */
  readonly names?: readonly string[] | undefined;
}

const READ_OPTIONS: OptionNames<SafetensorsReadOptions> = {
  ...NPY_READ_OPTIONS,
  ...WATCH_OPTIONS,
  names: true,
};

/** What a file holds. */
export interface SafetensorsFile<A = SafetensorsArray> {
  /** By name, in the order of the header. */
  readonly arrays: ReadonlyMap<string, A>;
  /** The texts of `__metadata__`. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** An array as the header describes it. */
export interface SafetensorsEntry {
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
  /** Bytes of the elements in the file. */
  readonly bytes: number;
}

/** One read, after which a signal is looked at. */
const READ_PIECE = 2 ** 22;

/** What a .safetensors file (by path or file URL, or its bytes) holds, from the header alone. Rejects with NpyError like `readSafetensors`. */
export async function listSafetensors(
  source: string | URL | Uint8Array,
): Promise<SafetensorsFile<SafetensorsEntry>> {
  return withSource(source, 'listSafetensors', new Watch({}), async (bytes) => {
    const { entries, metadata } = await readHeader(bytes);
    const arrays = entries.map(
      ({ name, dtype, header: { shape, dataBytes } }) =>
        [name, { dtype, shape, bytes: dataBytes }] as const,
    );
    return { arrays: new Map(arrays), metadata };
  });
}

/**
 * Reads arrays of a .safetensors file (by path or file URL, or its bytes). The header is checked against the file's length before
 * memory is taken: sizes, overlaps, holes and names that stand there twice. Each array is read in pieces into memory of its own, so
 * that files of any size are read, and with `names` no more of them than is wanted. The event loop goes on meanwhile. A signal ends it
 * between pieces. I8, I16 and U16 are read as int32, U32 and U64 as int64.
 * Rejects with NpyError: `NPY_INVALID`, `NPY_UNSUPPORTED`, `NPY_TRUNCATED`, `NPY_TOO_LARGE`, `NPY_NOT_FOUND` also for a name that is not
 * there, `NPY_IO`, `NPY_ARGUMENT`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { tensor } from '@mercer/tensor';
 * import { readSafetensors, writeSafetensors } from '@mercer/tensor/safetensors';
 * const path = join(await mkdtemp(join(tmpdir(), 'safetensors-')), 'model.safetensors');
 * await writeSafetensors(path, { weight: { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] } });
 * const { arrays } = await readSafetensors(path);
 * for (const [name, array] of arrays) {
 *   const weight = await tensor(array, { device: 'cpu' });
 *   console.log(name, await weight.toNested()); // weight [ [ 1, 2 ], [ 3, 4 ] ]
 * }
 * ```
 */
export async function readSafetensors(
  source: string | URL | Uint8Array,
  options?: SafetensorsReadOptions,
): Promise<SafetensorsFile> {
  const given = readOptions('readSafetensors', options, READ_OPTIONS);
  const { maxBytes = Infinity } = given;
  const watch = new Watch(given);
  watch.check();
  return withSource(source, 'readSafetensors', watch, async (bytes) => {
    const { entries, metadata } = await readHeader(bytes);
    const wanted = chosen(entries, given.names);
    watch.total = wanted.reduce((total, { header }) => total + header.dataBytes, 0);
    const arrays = new Map<string, SafetensorsArray>();
    for (const entry of wanted)
      arrays.set(entry.name, await readArray(bytes, entry, maxBytes, watch));
    return { arrays, metadata };
  });
}

async function readHeader(bytes: ByteSource): Promise<SafetensorsHeader> {
  const prefix = await bytes.read(0, Math.min(LENGTH_BYTES, bytes.bytes));
  const length = headerLength(prefix, bytes.bytes);
  return parseHeader(await bytes.read(LENGTH_BYTES, length), bytes.bytes);
}

function chosen(
  entries: readonly HeaderEntry[],
  names: readonly string[] | undefined,
): readonly HeaderEntry[] {
  if (names === undefined) return entries;
  const there = new Map(entries.map((entry) => [entry.name, entry]));
  return [...names].map((name) => {
    const entry = there.get(name);
    if (entry !== undefined) return entry;
    const some = [...there.keys()].slice(0, 20).map(quoted).join(', ');
    throw new NpyError(
      'NPY_NOT_FOUND',
      `Cannot read the file: it has no array ${quoted(name)}. It has ${some || 'none'}.`,
    );
  });
}

async function readArray(
  bytes: ByteSource,
  { dtype, header }: HeaderEntry,
  maxBytes: number,
  watch: Watch,
): Promise<SafetensorsArray> {
  const buffer = allocateData(header, maxBytes);
  const target = storedBytes(header, buffer);
  for (let at = 0; at < target.length; at += READ_PIECE) {
    const length = Math.min(READ_PIECE, target.length - at);
    target.set(await bytes.read(header.dataOffset + at, length), at);
    watch.advance(length);
  }
  const { shape, data } = await runInSlices(finishSteps(header, buffer), watch);
  return { dtype, shape, data };
}
