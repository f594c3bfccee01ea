import type { Database } from './database.js';
import { countEntries, deleteEntry } from './entries.js';
import { readNumber } from './schema.js';

/** Bounds of the store, all derived from one number. */
export interface Limits {
  /** For database and log together. */
  readonly maxBytes: number;
  /** Pages in use are kept at or below this. */
  readonly targetBytes: number;
  /** Pages in the log between checkpoints. */
  readonly logPages: number;
  /** Above this the log is emptied at once, or, while a long reader pins it, nothing is written. */
  readonly maxLogBytes: number;
  /** A larger entry is not stored. */
  readonly maxEntryBytes: number;
  readonly maxEntries: number;
}

const PAGE = 4096;
const VACUUM_PAGES = 64;

export function limitsFor(maxBytes: number): Limits {
  const logPages = Math.min(1000, Math.max(16, Math.floor(maxBytes / 16 / PAGE)));
  return {
    maxBytes,
    targetBytes: maxBytes - Math.floor(maxBytes / 4),
    logPages,
    maxLogBytes: Math.max(2 * logPages * PAGE, Math.floor(maxBytes / 8)),
    maxEntryBytes: Math.floor(maxBytes / 8),
    maxEntries: 65_536,
  };
}

/** Sizes from the database's own counters: no table is walked. */
export interface Usage {
  readonly usedBytes: number;
  readonly fileBytes: number;
}

export function usage(database: Database): Usage {
  const pages = readNumber(database.prepare('PRAGMA page_count').get(), 'page_count');
  const free = readNumber(database.prepare('PRAGMA freelist_count').get(), 'freelist_count');
  return { usedBytes: (pages - free) * PAGE, fileBytes: pages * PAGE };
}

/**
 * Inside a write transaction: deletes least recently used entries until `incomingBytes` more fit
 * under `targetBytes`, at most `most` of them. Returns how many went.
 */
export function makeRoom(
  database: Database,
  incomingBytes: number,
  targetBytes: number,
  maxEntries: number,
  most = 64,
): number {
  let evicted = 0;
  let over = usage(database).usedBytes + incomingBytes - targetBytes;
  let surplus = countEntries(database) - maxEntries;
  while ((over > 0 || surplus > 0) && evicted < most) {
    const row = database
      .prepare('SELECT key, size FROM entry ORDER BY last_used, rowid LIMIT 1')
      .get();
    if (!(row?.['key'] instanceof Uint8Array)) break;
    deleteEntry(database, row['key']);
    evicted++;
    surplus--;
    over = usage(database).usedBytes + incomingBytes - targetBytes;
  }
  return evicted;
}

/**
 * Inside a write transaction: gives a few free pages back to the file system where the file is
 * larger than `maxFileBytes`. Returns whether more remain. Never VACUUM: that rewrites everything
 * under an exclusive lock.
 */
export function shrinkStep(database: Database, maxFileBytes: number): boolean {
  const { fileBytes, usedBytes } = usage(database);
  if (fileBytes <= maxFileBytes || fileBytes === usedBytes) return false;
  database.connection.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  const after = usage(database);
  return after.fileBytes > maxFileBytes && after.fileBytes > after.usedBytes;
}

/** Empties the log where it is larger than `maxLogBytes`; false while a reader pins it there. */
export function boundLog(database: Database, maxLogBytes: number): boolean {
  if (database.logBytes() <= maxLogBytes) return true;
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  return database.logBytes() <= maxLogBytes;
}
