import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createDatabase } from './create-database.js';
import { Database, fileIdentity } from './database.js';
import { checkOwnFile } from './directory-safety.js';
import type { Connection, Driver } from './driver-types.js';
import { underRepairLock } from './repair-lock.js';
import { backOff } from './retry.js';
import { checkSchema, configure, databaseOwner } from './schema.js';
import { setAside } from './set-aside.js';
import { errorKind } from './sqlite-error.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

const BUSY_LIMIT_MS = 10_000;
const MOST_ROUNDS = 8;

/** How a database is to be opened. */
export interface OpenRequest {
  readonly driver: Driver;
  readonly path: string;
  readonly system: System;
  readonly readOnly: boolean;
  /** Pages in the write-ahead log between checkpoints. */
  readonly logPages: number;
  readonly onSetAside: (path: string, cause: unknown) => void;
}

function ownerSeenBy(driver: Driver, location: string): 'ours' | 'foreign' {
  const connection = driver.open(location, { readOnly: true });
  try {
    return databaseOwner(connection);
  } finally {
    connection.close();
  }
}

/**
 * Whose database it is, seen without locking, recovering or otherwise touching it, so that a
 * foreign one stays as it is down to its companions. (A descriptor of our own would not do:
 * closing it would drop the locks that other threads of this process hold on the file.)
 *
 * Such a look proves nothing broken: a checkpoint, under way or cut short, writes the first page
 * before those that it counts, and only the log, read under SQLite's locks, makes the file whole.
 */
function owner(driver: Driver, path: string): 'ours' | 'foreign' {
  try {
    return ownerSeenBy(driver, `${pathToFileURL(path).href}?immutable=1`);
  } catch (error) {
    if (errorKind(error) !== 'broken') throw error;
    return ownerSeenBy(driver, path);
  }
}

function assertOurs(driver: Driver, path: string): void {
  if (owner(driver, path) === 'ours') return;
  throw new StoreFault(
    'FOREIGN_DATABASE',
    `${path} is the database of another program and was left alone`,
    'Move it away, or set MERCER_CACHE_DIR to another folder.',
  );
}

/**
 * A connection that only reads. Where the folder cannot be written SQLite has no place for its
 * shared memory; with an empty log the file alone is the whole database.
 */
function openForReading(driver: Driver, path: string): Connection {
  const connection = driver.open(path, { readOnly: true });
  try {
    connection.prepare('SELECT count(*) FROM meta').get();
    return connection;
  } catch (error) {
    connection.close();
    const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const kind = errorKind(error);
    if ((kind !== 'unavailable' && kind !== 'readonly') || log > 0) throw error;
    return driver.open(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true });
  }
}

/** Opens the file as it is, or throws. Undefined: the path was exchanged meanwhile. */
function openOnce(request: OpenRequest, identity: string): Database | undefined {
  const { driver, path, readOnly } = request;
  checkOwnFile(path, request.system);
  // Ours appear under their name whole; SQLite would take an empty file for a new database.
  if (statSync(path).size === 0) throw new StoreFault('BROKEN', `${path} is empty`);
  assertOurs(driver, path);
  let connection: Connection | undefined = readOnly
    ? openForReading(driver, path)
    : driver.open(path, { readOnly: false });
  try {
    configure(connection, request.logPages);
    checkSchema(connection);
    if (!readOnly) {
      const mode = connection.prepare('PRAGMA journal_mode').get()?.['journal_mode'];
      if (mode !== 'wal') throw new StoreFault('BROKEN', `journal mode ${String(mode)}`);
    }
    // The log is found by name: it must belong to the file we opened, not to its successor.
    if (fileIdentity(path) !== identity) return undefined;
    const database = new Database(connection, path, identity, readOnly);
    connection = undefined;
    return database;
  } finally {
    connection?.close();
  }
}

/** Under the lock: is the file still the one that was found broken, and still broken? */
function repairBroken(request: OpenRequest, identity: string, cause: unknown): void {
  if (fileIdentity(request.path) !== identity) return;
  try {
    openOnce(request, identity)?.close();
  } catch (error) {
    if (errorKind(error) !== 'broken') throw error;
    setAside(request.path, request.system.now());
    request.onSetAside(request.path, cause);
  }
}

/**
 * Opens the store's database: makes it where missing, sets a broken one aside and makes a new
 * one, throws a StoreFault or the driver's error where it cannot be had. Waits for locks without
 * blocking the event loop.
 */
export async function openDatabase(request: OpenRequest): Promise<Database> {
  const { driver, path, system } = request;
  const lockPath = path.replace(/\.sqlite$/, '.lock');
  const started = system.monotonicMs();
  let rounds = 0;
  for (let attempt = 0; ; attempt++) {
    const identity = fileIdentity(path);
    try {
      if (identity === undefined) {
        if (request.readOnly) throw new StoreFault('UNWRITABLE', `${path} does not exist`);
        await underRepairLock(driver, lockPath, system, () => {
          if (fileIdentity(path) === undefined) createDatabase(driver, path, system);
        });
      } else {
        const database = openOnce(request, identity);
        if (database) return database;
      }
    } catch (error) {
      const kind = errorKind(error);
      const isExchanged = identity !== undefined && fileIdentity(path) !== identity;
      if (isExchanged) {
        // Another process set it aside while we looked: whatever we saw, look again.
      } else if (kind === 'broken' && !request.readOnly && identity !== undefined) {
        await underRepairLock(driver, lockPath, system, () => {
          repairBroken(request, identity, error);
        });
      } else if (kind !== 'busy' || system.monotonicMs() - started > BUSY_LIMIT_MS) {
        throw error;
      }
      if (kind === 'busy') {
        await backOff(attempt, system.random);
        continue;
      }
    }
    if (++rounds > MOST_ROUNDS) {
      throw new StoreFault('BROKEN', `${path} was replaced ${rounds} times while it was opened`);
    }
  }
}

/**
 * For a database that turned out broken in use: sets it aside unless someone already did. The
 * caller still holds its connection open, so that the file's number cannot have been given to
 * another file.
 */
export async function setAsideIfSame(
  request: OpenRequest,
  broken: Database,
  cause: unknown,
): Promise<void> {
  const lockPath = request.path.replace(/\.sqlite$/, '.lock');
  await underRepairLock(request.driver, lockPath, request.system, () => {
    if (fileIdentity(request.path) !== broken.identity) return;
    setAside(request.path, request.system.now());
    request.onSetAside(request.path, cause);
  });
}
