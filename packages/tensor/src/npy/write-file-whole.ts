import { randomBytes } from 'node:crypto';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ioError } from './npy-error.js';

/**
 * Writes a file whole or not at all: the pieces go to a new file with an unguessable name in the same folder, which is
 * flushed to the disk and then takes the place of `path` in one step. A reader sees the old file or the new one.
 * When anything fails, the new file is removed and the old one is as it was.
 */
export async function writeFileWhole(
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.mercer-${randomBytes(12).toString('hex')}.tmp`);
  let file: FileHandle | undefined;
  try {
    file = await open(temporary, 'wx', 0o666);
    for await (const piece of pieces) await writePiece(file, piece);
    await file.sync();
    await file.close();
    file = undefined;
    await rename(temporary, path);
  } catch (cause) {
    await file?.close().catch(() => undefined);
    await rm(temporary, { force: true }).catch(() => undefined);
    throw ioError('write', path, cause);
  }
  await syncFolder(folder);
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
