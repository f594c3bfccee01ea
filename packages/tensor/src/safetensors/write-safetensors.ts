import { Buffer } from 'node:buffer';
import { describeValue, isMap, own, type OptionNames } from '@mercer/options';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { allInHostMemory } from '../npy/in-host-memory.js';
import { checkArrayInput, dataPieces, type NpyArray } from '../npy/npy-array.js';
import { npyDTypeBytes } from '../npy/npy-dtype.js';
import { NpyError } from '../npy/npy-error.js';
import { quoted } from '../npy/printable.js';
import { pathOf, readOptions } from '../npy/read-options.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from '../npy/watch.js';
import { writeWhole } from '../npy/write-file-whole.js';
import { FORMAT_NAMES, type SafetensorsDType, type SafetensorsInput } from './safetensors-dtype.js';

/** Options of `writeSafetensors`. */
export interface SafetensorsWriteOptions extends WatchOptions {
  /** Texts by name, written as `__metadata__`. */
  readonly metadata?: ReadonlyMap<string, string> | Readonly<Record<string, string>> | undefined;
}

const WRITE_OPTIONS: OptionNames<SafetensorsWriteOptions> = { ...WATCH_OPTIONS, metadata: true };

const METADATA = '__metadata__';
/** Elements begin at a multiple of it. */
const ALIGNMENT = 8;

/** An array that is written, checked. */
interface Member {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  readonly array: NpyArray;
}

/**
 * Writes arrays, or tensors, by name as a .safetensors file, whole or not at all (a new file in the same folder, flushed, then renamed). Those of the widest
 * elements come first, so that every array is aligned. A signal ends it between pieces: what was at `path` stays.
 * Rejects with NpyError: `NPY_ARGUMENT` (before any file is touched), `NPY_NOT_FOUND`, `NPY_IO`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { tensor } from '@mercer/tensor';
 * import { writeSafetensors } from '@mercer/tensor/safetensors';
 * const folder = await mkdtemp(join(tmpdir(), 'safetensors-'));
 * const half = await tensor([[1, 2]], { dtype: 'bfloat16', device: 'cpu' });
 * await writeSafetensors(join(folder, 'half.safetensors'), { half }, { metadata: { format: 'pt' } });
 * ```
 */
export async function writeSafetensors(
  path: string | URL,
  arrays:
    | ReadonlyMap<string, SafetensorsInput | TensorOperand>
    | Readonly<Record<string, SafetensorsInput | TensorOperand>>,
  options?: SafetensorsWriteOptions,
): Promise<void> {
  const given = readOptions('writeSafetensors', options, WRITE_OPTIONS);
  const watch = new Watch(given);
  const held = await allInHostMemory<SafetensorsInput>(pairsOf('the arrays', arrays), given);
  const members = held
    .map(([name, input]) => memberOf(name, input))
    .sort((a, b) => npyDTypeBytes(b.array.dtype) - npyDTypeBytes(a.array.dtype));
  const header = encodeHeader(members, given.metadata);
  watch.total = members.reduce((total, { array }) => total + array.data.byteLength, 0);
  await writeWhole(pathOf(path, 'writeSafetensors'), filePieces(header, members, watch), watch);
}

function pairsOf<T>(
  what: string,
  given: ReadonlyMap<string, T> | Readonly<Record<string, T>>,
): (readonly [string, T])[] {
  const unknown: unknown = given;
  if (typeof unknown !== 'object' || unknown === null || Array.isArray(unknown)) {
    throw argument(`${what} are ${describeValue(unknown)}`);
  }
  return isMap(given) ? [...given.entries()] : Object.entries(given);
}

function memberOf(name: unknown, input: SafetensorsInput): Member {
  if (typeof name !== 'string' || name === METADATA) {
    throw argument(
      `${typeof name === 'string' ? quoted(name) : describeValue(name)} names no array`,
    );
  }
  const { data, shape, dtype } = own(input, 'data', 'shape', 'dtype');
  // bfloat16 has the bits of a float16
  const stored = dtype === 'bfloat16' ? 'float16' : dtype;
  const array = checkArrayInput({ data, shape, ...(stored !== undefined && { dtype: stored }) });
  return { name, array, dtype: dtype ?? array.dtype };
}

function encodeHeader(
  members: readonly Member[],
  metadata: SafetensorsWriteOptions['metadata'],
): Uint8Array {
  const described = new Map<string, unknown>();
  if (metadata !== undefined) described.set(METADATA, textsOf(metadata));
  let at = 0;
  for (const { name, dtype, array } of members) {
    const end = at + array.data.byteLength;
    const { shape } = array;
    described.set(name, { dtype: FORMAT_NAMES[dtype], shape, data_offsets: [at, end] });
    at = end;
  }
  const json = Buffer.from(JSON.stringify(Object.fromEntries(described)));
  const length = Math.ceil(json.length / ALIGNMENT) * ALIGNMENT;
  const bytes = Buffer.alloc(ALIGNMENT + length, ' ');
  bytes.writeBigUInt64LE(BigInt(length));
  json.copy(bytes, ALIGNMENT);
  return bytes;
}

function textsOf(metadata: NonNullable<SafetensorsWriteOptions['metadata']>): object {
  const pairs = pairsOf<unknown>('metadata', metadata);
  const odd = pairs.find((pair) => pair.some((one) => typeof one !== 'string'));
  if (odd === undefined) return Object.fromEntries(pairs);
  throw argument(`metadata has ${odd.map(describeValue).join(': ')}, which is no text`);
}

function* filePieces(
  header: Uint8Array,
  members: readonly Member[],
  watch: Watch,
): Generator<Uint8Array> {
  yield header;
  for (const { array } of members) {
    for (const piece of dataPieces(array, 'little')) {
      yield piece;
      watch.advance(piece.length);
    }
  }
}

function argument(why: string): NpyError {
  return new NpyError(
    'NPY_ARGUMENT',
    `Cannot write the .safetensors file: ${why}. Pass arrays { data, shape, dtype } by name, and metadata as texts by name.`,
  );
}
