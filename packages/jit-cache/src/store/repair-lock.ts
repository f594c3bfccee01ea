import { chmodSync } from 'node:fs';
import { backOff } from './retry.js';
import type { Connection, Driver } from './driver.js';
import { errorKind } from './sqlite-error.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

const LIMIT_MS = 15_000;

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
    let lock: Connection | undefined;
    try {
      lock = driver.open(path, { readOnly: false });
      // The umask decided until here; the file is empty and its folder private.
      if (system.uid !== undefined) chmodSync(path, 0o600);
      lock.exec('BEGIN EXCLUSIVE');
      return body();
    } catch (error) {
      if (errorKind(error) !== 'busy') throw error;
      if (system.monotonicMs() - started > LIMIT_MS) {
        throw new StoreFault(
          'LOCKED',
          `${path} has been locked for ${String(LIMIT_MS)} ms`,
          undefined,
          { cause: error },
        );
      }
    } finally {
      // Closing ends the transaction and lets go of the lock.
      lock?.close();
    }
    await backOff(attempt, system.random);
  }
}
