import { constants, open, type FileHandle } from 'node:fs/promises';
import { ofThisRealm, type OptionNames } from '@mercer/options';
import { allocateData, finishSteps, storedBytes, type NpyArray } from './npy-array.js';
import { checkFileBytes, NPY_READ_OPTIONS, type NpyReadOptions } from './npy-codec.js';
import { ioError, NpyError } from './npy-error.js';
import { NPY_PREFIX_BYTES, npyDataOffset, parseNpyHeader } from './npy-header.js';
import { printable } from './printable.js';
import { pathOf, readOptions } from './read-options.js';
import { runInSlices, Slices } from './slices.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from './watch.js';

/** Options of `readNpy`. */
export interface NpyFileOptions extends NpyReadOptions, WatchOptions {}

const NPY_FILE_OPTIONS: OptionNames<NpyFileOptions> = { ...NPY_READ_OPTIONS, ...WATCH_OPTIONS };

/** One read call, after which a signal is looked at. */
const READ_PIECE = 2 ** 24;
/** What is copied at once on the main thread. */
const COPY_PIECE = 2 ** 20;

/**
 * Reads a .npy file (by path or file URL), or the bytes of one. Files of any size are read in pieces into the one
 * buffer of the result; the header is checked against the file's length before that buffer is allocated. The event loop goes on
 * meanwhile. Elements of types that Mercer lacks are widened, see `NpyArray`. A signal ends it between pieces.
 * Rejects with NpyError: `NPY_NOT_FOUND`, `NPY_IO` and those of `decodeNpy`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readNpy, writeNpy } from '@mercer/tensor/npy';
 * const path = join(await mkdtemp(join(tmpdir(), 'npy-')), 'points.npy');
 * await writeNpy(path, { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] });
 * console.log((await readNpy(path)).shape); // [ 2, 2 ]
 * ```
 */
export async function readNpy(
  source: string | URL | Uint8Array,
  options?: NpyFileOptions,
): Promise<NpyArray> {
  const given = readOptions('readNpy', options, NPY_FILE_OPTIONS);
  const { maxBytes = Infinity } = given;
  const watch = new Watch(given);
  watch.check();
  const own = ofThisRealm(source);
  if (own instanceof Uint8Array) return readBytes(own, maxBytes, watch);
  const path = pathOf(own, 'readNpy');
  return withFile(path, watch, async (file, fileBytes) => {
    const prefix = await readPiece(file, 0, Math.min(NPY_PREFIX_BYTES, fileBytes), path);
    const headerBytes = Math.min(npyDataOffset(prefix), fileBytes);
    const header = parseNpyHeader(await readPiece(file, 0, headerBytes, path));
    checkFileBytes(header, fileBytes);
    const buffer = allocateData(header, maxBytes);
    watch.total = header.dataBytes;
    await readInto(file, storedBytes(header, buffer), header.dataOffset, path, watch);
    return runInSlices(finishSteps(header, buffer), watch);
  });
}

/** As `decodeNpy`, with pauses. */
async function readBytes(bytes: Uint8Array, maxBytes: number, watch: Watch): Promise<NpyArray> {
  const header = parseNpyHeader(bytes);
  checkFileBytes(header, bytes.length);
  const buffer = allocateData(header, maxBytes);
  const target = storedBytes(header, buffer);
  watch.total = header.dataBytes;
  const slices = new Slices();
  for (let at = 0; at < target.length; at += COPY_PIECE) {
    const from = header.dataOffset + at;
    const piece = bytes.subarray(from, from + COPY_PIECE);
    target.set(piece, at);
    await slices.pause();
    watch.advance(piece.length);
  }
  return runInSlices(finishSteps(header, buffer), watch);
}

/**
 * Opens a regular file for reading, runs `body` with its length, closes it; errors name the file, but for those of whoever looks on. A
 * pipe is refused and not waited for.
 */
export async function withFile<T>(
  path: string,
  watch: Watch,
  body: (file: FileHandle, fileBytes: number) => Promise<T>,
): Promise<T> {
  const file = await openFile(path);
  try {
    return await reading(path, watch, async () => body(file, await regularBytes(file, path)));
  } finally {
    await file.close();
  }
}

/** Opens a file for reading. @throws NpyError */
export async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw ioError('read', path, cause);
  }
}

/** The length of a regular file. @throws NpyError NPY_IO for any other */
export async function regularBytes(file: FileHandle, path: string): Promise<number> {
  const stat = await file.stat();
  if (stat.isFile()) return stat.size;
  throw new NpyError(
    'NPY_IO',
    `Cannot read '${printable(path)}': it is not a regular file. Pass the path of a file on disk.`,
  );
}

/** Runs `body`, whose errors name the file, but for those of whoever looks on. */
export async function reading<T>(path: string, watch: Watch, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (watch.owns(cause)) throw cause;
    throw ioError('read', path, withPath(path, cause));
  }
}

/** Exactly `bytes` bytes from `position` on. */
export async function readPiece(
  file: FileHandle,
  position: number,
  bytes: number,
  path: string,
): Promise<Uint8Array> {
  const target = new Uint8Array(bytes);
  await readInto(file, target, position, path);
  return target;
}

/** Fills `target` with bytes from `position` on. @throws NpyError NPY_TRUNCATED; the signal's reason */
export async function readInto(
  file: FileHandle,
  target: Uint8Array,
  position: number,
  path: string,
  watch?: Watch,
): Promise<void> {
  let at = 0;
  while (at < target.length) {
    const length = Math.min(READ_PIECE, target.length - at);
    const { bytesRead } = await file.read(target, at, length, position + at);
    if (bytesRead === 0) {
      throw new NpyError(
        'NPY_TRUNCATED',
        `Cannot read '${printable(path)}': it became shorter while it was read. Wait for its writer and try again.`,
      );
    }
    at += bytesRead;
    watch?.advance(bytesRead);
  }
}

/** The same error with the file named in its message, if it is not yet. */
function withPath(path: string, cause: unknown): unknown {
  if (!(cause instanceof NpyError) || cause.message.includes(printable(path))) return cause;
  return new NpyError(cause.code, `${cause.message} (file '${printable(path)}')`, { cause });
}
