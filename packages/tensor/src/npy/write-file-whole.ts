import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { OptionNames } from '@mercer/options';
import type { SignalOption } from '../device.js';
import { ioError } from './npy-error.js';
import { assertReplaceable } from './output-target.js';
import { removeOnExit } from './remove-on-exit.js';
import { readOptions } from './read-options.js';
import { sweepTemporaries, temporaryName } from './temporary-files.js';
import { Watch } from './watch.js';

const SIGNAL_OPTION: OptionNames<SignalOption> = { signal: true };

/**
 * Writes a file whole or not at all: the pieces go to a new file with an unguessable name in the same folder, which is
 * flushed to the disk and then takes the place of `path` in one step. A reader sees the old file or the new one.
 * When anything fails, the new file is removed and the old one is as it was; so it is when the process exits or is ended by SIGINT,
 * SIGTERM or SIGHUP. What SIGKILL or a crash leaves is removed by the next process that writes in the folder.
 *
 * A file that is replaced keeps its permissions and its group, and its owner where root writes; other names of it (hard links) keep the
 * old content. A symbolic link, a folder, a pipe, a device or a read-only file as `path` is refused with `NPY_IO`.
 * A signal ends it between pieces, and before the new file takes its place: what was at `path` stays.
 */
export async function writeFileWhole(
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options?: SignalOption,
): Promise<void> {
  const { signal } = readOptions('writeFileWhole', options, SIGNAL_OPTION);
  await writeWhole(path, pieces, new Watch({ signal }));
}

/** The same for the codec's own files. */
export async function writeWhole(
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  watch: Watch,
): Promise<void> {
  watch.check();
  const replaced = await assertReplaceable(path);
  const folder = dirname(path);
  await sweepOnce(folder);
  const temporary = join(folder, temporaryName());
  const forget = removeOnExit(temporary);
  let file: FileHandle | undefined;
  try {
    // What replaces a file may be secret: it is for its owner's eyes until it has that file's permissions.
    file = await open(temporary, 'wx', replaced === undefined ? 0o666 : 0o600);
    for await (const piece of pieces) {
      await writePiece(file, piece);
      watch.check();
    }
    if (replaced !== undefined) await keepPermissions(file, replaced);
    await file.sync();
    watch.check();
    await file.close();
    file = undefined;
    await rename(temporary, path);
  } catch (cause) {
    await file?.close().catch(() => undefined);
    await rm(temporary, { force: true }).catch(() => undefined);
    if (watch.owns(cause)) throw cause;
    throw ioError('write', path, cause);
  } finally {
    forget();
  }
  await syncFolder(folder);
}

const MAX_SWEPT = 1000;
const swept = new Set<string>();

/** Once for each folder: listing a large one for each of many files would be slow. */
async function sweepOnce(folder: string): Promise<void> {
  const whole = resolve(folder);
  if (swept.has(whole)) return;
  if (swept.size >= MAX_SWEPT) swept.clear();
  swept.add(whole);
  await sweepTemporaries(whole);
}

/** The owner where root writes, the group where it may be kept, and the permissions; a group that is another gets those of all. */
async function keepPermissions(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const now = await file.stat();
  const isRoot = process.geteuid?.() === 0;
  let kept = mode & 0o1777;
  if ((isRoot && now.uid !== uid) || now.gid !== gid) {
    try {
      await file.chown(isRoot ? uid : now.uid, gid);
    } catch {
      kept = (kept & ~0o070) | ((kept & 0o007) << 3);
    }
  }
  await file.chmod(kept).catch(() => undefined); // file systems without permissions
}

async function writePiece(file: FileHandle, piece: Uint8Array): Promise<void> {
  let at = 0;
  while (at < piece.length) {
    at += (await file.write(piece, at, piece.length - at)).bytesWritten;
  }
}

/** Makes the new name durable. Some file systems cannot flush a folder; the file itself is complete either way. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Nothing to repair: the rename has happened.
  }
}
