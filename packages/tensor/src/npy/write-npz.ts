import { isMap, type OptionNames } from '@mercer/options';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { allInHostMemory } from './in-host-memory.js';
import type { NpyArrayInput } from './npy-array.js';
import { npyFilePieces } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { quoted } from './printable.js';
import { pathOf, readOptions } from './read-options.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from './watch.js';
import { writeWhole } from './write-file-whole.js';
import { zipPieces, type NewMember } from './zip-writer.js';

/** How an archive is laid down. */
export interface NpzWriteOptions extends WatchOptions {
  /** Deflate the members (like numpy.savez_compressed); stored as they are by default (like numpy.savez). */
  readonly compress?: boolean;
}

const NPZ_WRITE_OPTIONS: OptionNames<NpzWriteOptions> = { ...WATCH_OPTIONS, compress: true };

/** Classic zip archives address 4 GiB; half a megabyte is kept for headers. */
const MAX_ARCHIVE_BYTES = 2 ** 32 - 2 ** 19;
const MAX_MEMBERS = 4096;

/**
 * Writes several arrays, or tensors, as one .npz archive, whole or not at all. Equal arrays give equal bytes: no time is stored. A name may have
 * slashes, as in `layer/0/weight`; it is a label, and one that could lead an unpacking tool out of its folder is refused.
 * A signal ends it between pieces: what was at `path` stays.
 * Rejects with NpyError: `NPY_ARGUMENT` (before any file is touched), `NPY_TOO_LARGE` above 4 GiB, `NPY_IO`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { writeNpz } from '@mercer/tensor/npy';
 * const path = join(await mkdtemp(join(tmpdir(), 'npz-')), 'pair.npz');
 * const x = { data: Float32Array.of(1, 2), shape: [2] };
 * await writeNpz(path, { x, y: x }, { compress: true });
 * ```
 */
export async function writeNpz(
  path: string | URL,
  arrays:
    | ReadonlyMap<string, NpyArrayInput | TensorOperand>
    | Readonly<Record<string, NpyArrayInput | TensorOperand>>,
  options?: NpzWriteOptions,
): Promise<void> {
  const given = readOptions('writeNpz', options, NPZ_WRITE_OPTIONS);
  const { compress = false } = given;
  const watch = new Watch(given);
  const named: Iterable<readonly [string, NpyArrayInput | TensorOperand]> = isMap(arrays)
    ? arrays
    : Object.entries(arrays);
  const members = await allInHostMemory<NpyArrayInput>(named, given);
  checkMembers(members);
  watch.total = members.reduce((total, [, { data }]) => total + data.byteLength, 0);
  const pieces = zipPieces(newMembers(members, watch), compress);
  await writeWhole(pathOf(path, 'writeNpz'), pieces, watch);
}

function checkMembers(members: readonly (readonly [string, NpyArrayInput])[]): void {
  if (members.length > MAX_MEMBERS) {
    throw argument(`${members.length} arrays are more than ${MAX_MEMBERS}`);
  }
  let total = 0;
  for (const [name, array] of members) {
    if (name === '' || name.length > 200 || !isPlainName(name)) {
      throw argument(`${quoted(name)} is no name for an array`);
    }
    npyFilePieces(array, {}); // checks the array now, before a file exists
    total += array.data.byteLength + 1024;
  }
  if (total > MAX_ARCHIVE_BYTES) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot write the archive: ${total} bytes exceed the 4 GiB of the format. Write one .npy file for each array.`,
    );
  }
}

/**
 * A label such as `a` or `layer/0/weight`, with which no unpacking tool leaves its folder or is led astray: no empty, `.` or `..`
 * between slashes, no backslash, no drive, no control character, no half of a surrogate pair.
 */
function isPlainName(name: string): boolean {
  if (/[\p{Cc}\p{Cs}\\]/u.test(name) || /^[A-Za-z]:/.test(name)) return false;
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function* newMembers(
  members: readonly (readonly [string, NpyArrayInput])[],
  watch: Watch,
): Generator<NewMember> {
  for (const [name, array] of members) {
    yield { name: `${name}.npy`, pieces: npyFilePieces(array, {}, watch) };
  }
}

function argument(why: string): NpyError {
  return new NpyError('NPY_ARGUMENT', `Cannot write the archive: ${why}. Rename or split it.`);
}
