import process from 'node:process';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ioError } from './npy-error.js';
import { assertReplaceable } from './output-target.js';
import { removeOnExit } from './remove-on-exit.js';
import { sweepTemporaries, temporaryName } from './temporary-files.js';

/** A new file with an unguessable name in the folder of another one, whose place it takes at the end, in one step. */
export class FileBeside {
  readonly file: FileHandle;
  readonly #path: string;
  readonly #temporary: string;
  readonly #replaced: Stats | undefined;
  readonly #forget: () => void;
  #isOpen = true;

  private constructor(
    path: string,
    temporary: string,
    file: FileHandle,
    replaced: Stats | undefined,
    forget: () => void,
  ) {
    this.#path = path;
    this.#temporary = temporary;
    this.file = file;
    this.#replaced = replaced;
    this.#forget = forget;
  }

  /** @throws NpyError NPY_IO, for a path that no result goes to too; NPY_NOT_FOUND */
  static async open(path: string): Promise<FileBeside> {
    const replaced = await assertReplaceable(path);
    const folder = dirname(path);
    await sweepOnce(folder);
    const temporary = join(folder, temporaryName());
    const forget = removeOnExit(temporary);
    try {
      // What replaces a file may be secret: it is for its owner's eyes until it has that file's permissions.
      const file = await open(temporary, 'wx', replaced === undefined ? 0o666 : 0o600);
      return new FileBeside(path, temporary, file, replaced, forget);
    } catch (cause) {
      forget();
      throw ioError('write', path, cause);
    }
  }

  /** Writes all of a piece, behind what was written, or from the byte `position` on. */
  async write(piece: Uint8Array, position?: number): Promise<void> {
    let at = 0;
    while (at < piece.length) {
      const place = position === undefined ? null : position + at;
      at += (await this.file.write(piece, at, piece.length - at, place)).bytesWritten;
    }
  }

  /** Flushes the file, and puts it in its place. `check` may still end it. */
  async commit(check: () => void): Promise<void> {
    if (this.#replaced !== undefined) await keepPermissions(this.file, this.#replaced);
    await this.file.sync();
    check();
    this.#isOpen = false;
    await this.file.close();
    await rename(this.#temporary, this.#path);
    this.#forget();
    await syncFolder(dirname(this.#path));
  }

  /** Removes the file; what was in its place stays. */
  async abandon(): Promise<void> {
    if (this.#isOpen) await this.file.close().catch(() => undefined);
    this.#isOpen = false;
    await rm(this.#temporary, { force: true }).catch(() => undefined);
    this.#forget();
  }
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
