import { chmodSync, existsSync, lstatSync, type Stats } from 'node:fs';
import type { Connection, Driver } from './driver-types.js';
import { backOff } from './retry.js';
import { COMPANIONS } from './set-aside.js';
import { errorKind } from './sqlite-error.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

const LIMIT_MS = 15_000;
const MOST_FILES = 8;

/** Whether the name is that of a lock, for which damage does not matter. */
export function isLockFile(name: string): boolean {
  return /^kernels-v\d+\.lock/.test(name);
}

/**
 * A lock is an empty file of ours; one that does not exist can be made. Beside it SQLite keeps a
 * journal while it is held.
 */
function isUsable(path: string, system: System): boolean {
  const look = (suffix: string): Stats | undefined =>
    lstatSync(path + suffix, { throwIfNoEntry: false });
  if (COMPANIONS.some((suffix) => look(suffix)?.isFile() === false)) return false;
  const stat = look('');
  if (stat === undefined) return true;
  return stat.isFile() && stat.size === 0 && (system.uid ?? stat.uid) === stat.uid;
}

/**
 * The lock's file: the first of `path`, `path.1`, ... that is usable. What stands in place of a lock
 * stays there: were it exchanged, one process could exchange the file that another has just locked.
 * So all processes come to the same file.
 */
function lockFile(path: string, system: System): string {
  for (let n = 0; n < MOST_FILES; n++) {
    const file = n === 0 ? path : `${path}.${n}`;
    if (isUsable(file, system)) return file;
  }
  throw new StoreFault(
    'UNAVAILABLE',
    `${path} and the ${MOST_FILES - 1} files that could take its place are no empty files`,
    `Remove them: rm -r ${path}*`,
  );
}

/**
 * Runs `body` while holding the lock that serialises creation and repair of a database between
 * processes. It is SQLite's own lock on an empty file beside the database: the kernel lets go of
 * it when its owner dies, so it cannot be left behind.
 */
export async function underRepairLock<T>(
  driver: Driver,
  path: string,
  system: System,
  body: () => T,
): Promise<T> {
  const started = system.monotonicMs();
  for (let attempt = 0; ; attempt++) {
    const file = lockFile(path, system);
    let lock: Connection | undefined;
    let isHeld = false;
    try {
      // Whatever mode it was given; its folder is private.
      if (system.uid !== undefined && existsSync(file)) chmodSync(file, 0o600);
      lock = driver.open(file, { readOnly: false });
      // The umask decided until here.
      if (system.uid !== undefined) chmodSync(file, 0o600);
      lock.exec('BEGIN EXCLUSIVE');
      isHeld = true;
      return body();
    } catch (error) {
      // Damaged since we looked: the next look finds another file.
      const isDamaged = !isHeld && !isUsable(file, system);
      if (!isDamaged && errorKind(error) !== 'busy') throw error;
      if (system.monotonicMs() - started > LIMIT_MS) {
        throw new StoreFault('LOCKED', `${file} has been locked for ${LIMIT_MS} ms`, undefined, {
          cause: error,
        });
      }
    } finally {
      // Closing ends the transaction and lets go of the lock.
      lock?.close();
    }
    await backOff(attempt, system.random);
  }
}
