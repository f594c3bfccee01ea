import { StoreFault } from './store-fault.js';

/** What an error from the driver asks of us. */
export type ErrorKind =
  /** Someone else holds the lock: wait and try again. */
  | 'busy'
  /** The file is not what it should be: set it aside and build it anew. */
  | 'broken'
  /** The path no longer leads to the open file: open again. */
  | 'moved'
  /** No room: go on without writing. */
  | 'full'
  /** Not writable: go on without writing. */
  | 'readonly'
  /** Anything else: go on without the store. */
  | 'unavailable';

const READONLY_DBMOVED = 1032;
const IOERR_SHORT_READ = 522;
const IOERR_CORRUPTFS = 8458;

const PRIMARY: Readonly<Record<number, ErrorKind>> = {
  1: 'broken', // ERROR: our fixed statements do not fit the schema
  5: 'busy',
  6: 'busy', // LOCKED
  8: 'readonly',
  11: 'broken', // CORRUPT
  13: 'full',
  17: 'broken', // SCHEMA
  18: 'broken', // TOOBIG
  19: 'broken', // CONSTRAINT: our statements cannot violate one in a sound file
  20: 'broken', // MISMATCH
  24: 'broken', // FORMAT
  26: 'broken', // NOTADB
};

/** SQLite's result code, extended where the driver gives that, or undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** Sorts an error by what is to be done about it. */
export function errorKind(error: unknown): ErrorKind {
  if (error instanceof StoreFault) {
    if (error.code === 'BROKEN') return 'broken';
    return error.code === 'MISSING' ? 'moved' : 'unavailable';
  }
  const code = sqliteCode(error);
  if (code === undefined) {
    const system = error instanceof Error && 'code' in error ? error.code : undefined;
    if (system === 'ENOSPC' || system === 'EDQUOT') return 'full';
    if (system === 'EROFS' || system === 'EACCES' || system === 'EPERM') return 'readonly';
    // A driver refuses integers beyond 2^53, and sound rows hold none.
    return system === 'ERR_OUT_OF_RANGE' ? 'broken' : 'unavailable';
  }
  if (code === READONLY_DBMOVED) return 'moved';
  if (code === IOERR_SHORT_READ || code === IOERR_CORRUPTFS) return 'broken';
  return PRIMARY[code & 0xff] ?? 'unavailable';
}
