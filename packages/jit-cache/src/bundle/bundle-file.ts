import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflateRawSync, inflateRaw } from 'node:zlib';
import { entrySum, type Entry } from '../store/entries.js';

/**
 * A file with the kernels of one target: these 16 bytes, the length of the index (4 bytes, the lowest first), its SHA-256, the index as
 * JSON, and the kernels, each compressed.
 */
const MAGIC = 'mercer-kernels 1';
const HEAD_BYTES = MAGIC.length + 4 + 32;
const MOST_INDEX_BYTES = 2 ** 26;

/** How long compilers took is not kept: the same kernels are the same bytes whenever they were made. */
const NO_TIME = 0;

/** Where a kernel lies behind the index, and what is known of it without reading it. */
interface Place {
  readonly at: number;
  readonly bytes: number;
  readonly names: Readonly<Record<string, string>>;
  /** Over key, names and the bytes as they were before they were compressed. */
  readonly sum: string;
}

/** What is in a file, by the keys of `bundleKey`. */
export interface BundleIndex {
  readonly target: string;
  /** The compilers that made the kernels, for people. */
  readonly madeWith: readonly string[];
  readonly entries: ReadonlyMap<string, Place>;
  /** Where the kernels begin. */
  readonly start: number;
}

/** The bytes of a file. @param entries by the keys of `bundleKey` */
export function bundleBytes(
  target: string,
  madeWith: readonly string[],
  entries: ReadonlyMap<string, Entry>,
): Uint8Array {
  const places: Record<string, Place> = {};
  const blobs: Uint8Array[] = [];
  let at = 0;
  for (const [key, entry] of entries) {
    const blob = deflateRawSync(entry.binary, { level: 9 });
    const { loweredNames: names } = entry;
    places[key] = { at, bytes: blob.length, names, sum: sumOf(key, entry) };
    blobs.push(blob);
    at += blob.length;
  }
  const index = Buffer.from(JSON.stringify({ target, madeWith, entries: places }), 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(index.length);
  const sum = createHash('sha256').update(index).digest();
  return Buffer.concat([Buffer.from(MAGIC, 'latin1'), length, sum, index, ...blobs]);
}

/** @throws Error saying what is wrong with the file; the system's own where it cannot be read */
export async function readIndex(path: string): Promise<BundleIndex> {
  await using file = await open(path);
  const head = await readAt(file, 0, HEAD_BYTES);
  if (head.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw new Error('it does not begin like a file of kernels of this version');
  const length = head.readUInt32LE(MAGIC.length);
  if (length > MOST_INDEX_BYTES) throw new Error(`its list of kernels has ${length} bytes`);
  const text = await readAt(file, HEAD_BYTES, length);
  const sum = createHash('sha256').update(text).digest();
  if (!sum.equals(head.subarray(MAGIC.length + 4)))
    throw new Error('the checksum of its list of kernels does not match');
  // What a sum vouches for was written by bundleBytes.
  const { target, madeWith, entries } = JSON.parse(text.toString('utf8')) as {
    readonly target: string;
    readonly madeWith: readonly string[];
    readonly entries: Record<string, Place>;
  };
  return {
    target,
    madeWith,
    entries: new Map(Object.entries(entries)),
    start: HEAD_BYTES + length,
  };
}

const inflate = promisify(inflateRaw);

/** A kernel of a file, undefined where it has none of this key. @throws Error saying what is wrong with its bytes */
export async function readKernel(
  path: string,
  { entries, start }: BundleIndex,
  key: string,
): Promise<Entry | undefined> {
  const place = entries.get(key);
  if (place === undefined) return undefined;
  await using file = await open(path);
  // No Buffer: its slices are no copies.
  const binary = new Uint8Array(await inflate(await readAt(file, start + place.at, place.bytes)));
  const entry = { binary, loweredNames: place.names, log: '', compileMs: NO_TIME };
  if (sumOf(key, entry) !== place.sum) throw new Error('its checksum does not match');
  return entry;
}

function sumOf(key: string, { loweredNames, binary }: Entry): string {
  const names = JSON.stringify(loweredNames);
  const sum = entrySum(Buffer.from(key, 'hex'), { names, log: '', binary, compile_ms: NO_TIME });
  return Buffer.from(sum).toString('hex');
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead === length) return buffer;
  throw new Error(`it is cut off at ${position + bytesRead} bytes`);
}
