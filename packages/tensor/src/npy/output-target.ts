import { access, constants, lstat, readlink } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { ioError, NpyError } from './npy-error.js';
import { printable } from './printable.js';

/**
 * What a file that is to be written replaces: an existing regular file, or undefined where there is none. Symbolic links, folders,
 * pipes and devices are refused, as is a file without write permission: a result takes the place of a file in one step, which
 * would replace the link or the pipe itself, and never goes through them.
 *
 * @throws NpyError NPY_IO
 */
export async function assertReplaceable(path: string): Promise<Stats | undefined> {
  if (path === '' || path.endsWith('/')) {
    throw refused(path, 'it names no file. Add a file name');
  }
  let stat: Stats;
  try {
    stat = await lstat(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw ioError('write', path, cause);
  }
  if (stat.isSymbolicLink()) {
    const target = await readlink(path).catch(() => 'another place');
    throw refused(
      path,
      `it is a symbolic link to '${printable(target)}', and results are never written through links. Name the file itself, or remove the link`,
    );
  }
  if (!stat.isFile()) {
    throw refused(
      path,
      `it is ${kindOf(stat)}, and a result takes the place of a regular file. Name a new or a regular file`,
    );
  }
  try {
    await access(path, constants.W_OK);
  } catch (cause) {
    throw refused(path, 'it is read-only. Make it writable, or name another file', cause);
  }
  return stat;
}

function kindOf(stat: Stats): string {
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a pipe (FIFO)';
  if (stat.isSocket()) return 'a socket';
  return 'a device';
}

function refused(path: string, why: string, cause?: unknown): NpyError {
  return new NpyError('NPY_IO', `Cannot write '${printable(path)}': ${why}.`, { cause });
}
