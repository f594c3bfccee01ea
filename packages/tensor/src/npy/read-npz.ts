import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import type { OptionNames } from '@mercer/options';
import { withSource, type ByteSource } from './byte-source.js';
import type { NpyArray } from './npy-array.js';
import { NPY_READ_OPTIONS, type NpyReadOptions } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { NpySink } from './npy-sink.js';
import { quoted } from './printable.js';
import { readOptions } from './read-options.js';
import { Slices } from './slices.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from './watch.js';
import { memberDataOffset, readZipDirectory, type ZipMember } from './zip-directory.js';

/** Limits on what an archive may hold, and which members are wanted. */
export interface NpzReadOptions extends NpyReadOptions, WatchOptions {
  /** Names to read; every array of the archive by default. */
  readonly members?: readonly string[];
  /** Most members an archive may list; 4096 by default. */
  readonly maxEntries?: number;
  /** Most that the members read may expand by, together, once they exceed 256 MiB; 200 by default. */
  readonly maxRatio?: number;
}

const LIST_OPTIONS: OptionNames<Pick<NpzReadOptions, 'maxEntries'>> = { maxEntries: true };
const NPZ_READ_OPTIONS: OptionNames<NpzReadOptions> = {
  ...NPY_READ_OPTIONS,
  ...WATCH_OPTIONS,
  ...LIST_OPTIONS,
  members: true,
  maxRatio: true,
};

/** One array of an archive, as its directory lists it. */
export interface NpzMember {
  readonly name: string;
  readonly storedBytes: number;
  readonly expandedBytes: number;
}

const FREE_EXPANSION_BYTES = 2 ** 28;
/** What is read, expanded or checked at once. */
const PIECE_BYTES = 2 ** 18;

/** The arrays of a .npz archive by name, from the directory alone. Rejects with NpyError like `readNpz`. */
export async function listNpz(
  source: string | URL | Uint8Array,
  options?: Pick<NpzReadOptions, 'maxEntries'>,
): Promise<NpzMember[]> {
  const given = readOptions('listNpz', options, LIST_OPTIONS);
  return withSource(source, 'listNpz', new Watch({}), async (bytes) =>
    [...(await arrayMembers(bytes, given)).entries()].map(([name, member]) => ({
      name,
      storedBytes: member.storedBytes,
      expandedBytes: member.expandedBytes,
    })),
  );
}

/**
 * Reads arrays of a .npz archive (by path or file URL, or its bytes) into a map by name, `.npy` left off as numpy does.
 * Names are labels only: nothing is ever written or looked up under them. Every member is checked against its CRC-32. Deflated
 * members are expanded off the main thread; the event loop goes on meanwhile. A signal ends it between pieces.
 * Rejects with NpyError: `NPY_NOT_FOUND` for a member that is not there, and those of `readNpy`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readNpz, writeNpz } from '@mercer/tensor/npy';
 * const path = join(await mkdtemp(join(tmpdir(), 'npz-')), 'data.npz');
 * await writeNpz(path, { x: { data: Float64Array.of(1, 2, 3), shape: [3] } });
 * console.log((await readNpz(path)).get('x')?.data); // Float64Array(3) [ 1, 2, 3 ]
 * ```
 */
export async function readNpz(
  source: string | URL | Uint8Array,
  options?: NpzReadOptions,
): Promise<Map<string, NpyArray>> {
  const given = readOptions('readNpz', options, NPZ_READ_OPTIONS);
  const watch = new Watch(given);
  watch.check();
  return withSource(source, 'readNpz', watch, async (bytes) => {
    const members = await arrayMembers(bytes, given);
    const wanted = (given.members ?? [...members.keys()]).map((name) => {
      const member = members.get(name);
      if (member !== undefined) return [name, member] as const;
      const there = [...members.keys()].slice(0, 20).map(quoted);
      throw new NpyError(
        'NPY_NOT_FOUND',
        `Cannot read the archive: it has no array ${quoted(name)}. It has ${there.join(', ') || 'none'}.`,
      );
    });
    checkExpansion(wanted, given.maxRatio ?? 200);
    watch.total = wanted.reduce((total, [, { expandedBytes }]) => total + expandedBytes, 0);
    const arrays = new Map<string, NpyArray>();
    for (const [name, member] of wanted) {
      arrays.set(name, await readMember(bytes, member, given.maxBytes ?? Infinity, watch));
    }
    return arrays;
  });
}

async function arrayMembers(
  source: ByteSource,
  options: Pick<NpzReadOptions, 'maxEntries'>,
): Promise<Map<string, ZipMember>> {
  const members = await readZipDirectory(source, options.maxEntries ?? 4096);
  return new Map(
    members
      .filter((member) => member.name.endsWith('.npy'))
      .map((member) => [member.name.slice(0, -4), member]),
  );
}

function checkExpansion(wanted: readonly (readonly [string, ZipMember])[], maxRatio: number): void {
  let stored = 0;
  let expanded = 0;
  for (const [, member] of wanted) {
    stored += member.storedBytes;
    expanded += member.expandedBytes;
  }
  if (expanded <= FREE_EXPANSION_BYTES || expanded <= stored * maxRatio) return;
  throw new NpyError(
    'NPY_TOO_LARGE',
    `Cannot read the archive: ${stored} bytes would expand to ${expanded}, more than ${maxRatio} times. ` +
      'Raise the option maxRatio if the file is trusted.',
  );
}

async function readMember(
  source: ByteSource,
  member: ZipMember,
  maxBytes: number,
  watch: Watch,
): Promise<NpyArray> {
  const start = await memberDataOffset(source, member);
  const sink = new NpySink(member.expandedBytes, maxBytes);
  let check = 0;
  const accept = (piece: Uint8Array): void => {
    sink.push(piece);
    check = crc32(piece, check);
    watch.advance(piece.length);
  };
  const pieces = storedPieces(source, start, member.storedBytes);
  if (member.method === 'deflated') await inflate(pieces, accept, member.name);
  else for await (const piece of pieces) accept(piece);
  const array = await sink.finish(watch);
  if (check !== member.crc32) throw damaged(member.name, 'its checksum is wrong');
  return array;
}

async function* storedPieces(
  source: ByteSource,
  start: number,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  const slices = new Slices();
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    yield await source.read(start + at, Math.min(PIECE_BYTES, bytes - at));
    await slices.pause();
  }
}

async function inflate(
  pieces: AsyncIterable<Uint8Array>,
  accept: (piece: Uint8Array) => void,
  name: string,
): Promise<void> {
  try {
    await pipeline(pieces, createInflateRaw({ chunkSize: PIECE_BYTES }), async (expanded) => {
      for await (const piece of expanded) accept(piece as Uint8Array);
    });
  } catch (cause) {
    if (!/^Z_/.test((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
    throw damaged(name, 'its compressed data is damaged', cause);
  }
}

function damaged(name: string, why: string, cause?: unknown): NpyError {
  return new NpyError(
    'NPY_INVALID',
    `Cannot read member ${quoted(name)} of the archive: ${why}. Write the archive again.`,
    { cause },
  );
}
