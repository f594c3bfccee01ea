import type { OptionNames } from '@mercer/options';
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate';
import type { NpyArrayInput } from './npy-array.js';
import { npyFilePieces } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { pathOf, readOptions } from './read-options.js';
import { writeFileWhole } from './write-file-whole.js';

/** How an archive is laid down. */
export interface NpzWriteOptions {
  /** Deflate the members (like numpy.savez_compressed); stored as they are by default (like numpy.savez). */
  readonly compress?: boolean;
}

const NPZ_WRITE_OPTIONS: OptionNames<NpzWriteOptions> = { compress: true };

/** Classic zip archives address 4 GiB; half a megabyte is kept for headers. */
const MAX_ARCHIVE_BYTES = 2 ** 32 - 2 ** 19;
const MAX_MEMBERS = 4096;
const PUSH_BYTES = 2 ** 20;

/**
 * Writes several arrays as one .npz archive, whole or not at all. Equal arrays give equal bytes: no time is stored.
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
  arrays: ReadonlyMap<string, NpyArrayInput> | Readonly<Record<string, NpyArrayInput>>,
  options?: NpzWriteOptions,
): Promise<void> {
  const { compress = false } = readOptions('writeNpz', options, NPZ_WRITE_OPTIONS);
  const members = arrays instanceof Map ? [...arrays.entries()] : Object.entries(arrays);
  checkMembers(members);
  const pieces = archivePieces(members, compress);
  await writeFileWhole(pathOf(path, 'writeNpz'), pieces);
}

function checkMembers(members: readonly (readonly [string, NpyArrayInput])[]): void {
  if (members.length > MAX_MEMBERS) {
    throw argument(`${members.length} arrays are more than ${MAX_MEMBERS}`);
  }
  let total = 0;
  for (const [name, array] of members) {
    if (name === '' || name.length > 200 || !isPlainName(name)) {
      throw argument(`${JSON.stringify(name.slice(0, 80))} is no name for an array`);
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

/** No separators and no control characters, so that no unpacking tool is led astray by a name. */
function isPlainName(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const letter = name.charAt(i);
    if (letter < ' ' || letter === '/' || letter === '\\') return false;
  }
  return true;
}

function* archivePieces(
  members: readonly (readonly [string, NpyArrayInput])[],
  compress: boolean,
): Generator<Uint8Array> {
  const ready: Uint8Array[] = [];
  const zip = new Zip((error, piece) => {
    if (error !== null) throw error;
    ready.push(piece);
  });
  for (const [name, array] of members) {
    const member = compress ? new ZipDeflate(`${name}.npy`) : new ZipPassThrough(`${name}.npy`);
    member.mtime = new Date(1980, 0, 1);
    zip.add(member);
    for (const piece of npyFilePieces(array, {})) {
      for (let at = 0; at < piece.length; at += PUSH_BYTES) {
        member.push(piece.subarray(at, at + PUSH_BYTES));
        yield* ready.splice(0);
      }
    }
    member.push(new Uint8Array(0), true);
    yield* ready.splice(0);
  }
  zip.end();
  yield* ready.splice(0);
}

function argument(why: string): NpyError {
  return new NpyError('NPY_ARGUMENT', `Cannot write the archive: ${why}. Rename or split it.`);
}
