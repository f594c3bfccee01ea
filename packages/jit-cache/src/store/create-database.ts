import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Driver } from './driver-types.js';
import { proveWriteAheadLog, writeSchema } from './schema.js';
import { COMPANIONS } from './set-aside.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

/**
 * Builds the database whole under another name and renames it into place, so that no process ever
 * meets a half-made one, and a file system that cannot do write-ahead logging shows it before
 * anything depends on it. The caller holds the repair lock and has seen that `path` is missing.
 */
export function createDatabase(driver: Driver, path: string, system: System): void {
  const prefix = `${basename(path)}.new-`;
  for (const name of readdirSync(dirname(path))) {
    // Left by a creator that was killed: the lock is ours, so nobody is at work on it.
    if (name.startsWith(prefix)) rmSync(join(dirname(path), name), { force: true });
  }
  // A log without its database would be replayed into the new one.
  for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });

  const draft = `${path}.new-${system.pid}`;
  // SQLite gives its log and shared-memory files the mode of the database.
  closeSync(openSync(draft, 'wx', 0o600));
  if (system.uid !== undefined) chmodSync(draft, 0o600);
  try {
    const connection = driver.open(draft, { readOnly: false });
    try {
      writeSchema(connection);
      proveWriteAheadLog(
        connection,
        () => statSync(`${draft}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      );
    } finally {
      connection.close();
    }
    if (COMPANIONS.some((suffix) => existsSync(draft + suffix))) {
      throw new StoreFault('NO_WAL', 'the write-ahead log could not be emptied');
    }
    renameSync(draft, path);
  } finally {
    for (const suffix of ['', ...COMPANIONS]) rmSync(draft + suffix, { force: true });
  }
}
