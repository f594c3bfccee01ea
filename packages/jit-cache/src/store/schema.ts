import type { Connection, Row } from './driver-types.js';
import { StoreFault } from './store-fault.js';

/** `MCR1`, in the header of every database of ours. */
export const APPLICATION_ID = 0x4d435231;
/** Also in the file's name, so that two versions of the package never fight over one file. */
export const SCHEMA_VERSION = 1;
export const DATABASE_NAME = `kernels-v${SCHEMA_VERSION}.sqlite`;

const TABLES: Readonly<Record<string, string>> = {
  meta: 'CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT',
  // The bytes come last, so that reading the small columns does not walk their pages.
  entry:
    'CREATE TABLE entry (key BLOB PRIMARY KEY, key_json TEXT NOT NULL, target TEXT NOT NULL, toolchain TEXT NOT NULL, size INTEGER NOT NULL, sha BLOB NOT NULL, names TEXT NOT NULL, log TEXT NOT NULL, compile_ms REAL NOT NULL, created INTEGER NOT NULL, last_used INTEGER NOT NULL, binary BLOB NOT NULL) STRICT',
  entry_by_use: 'CREATE INDEX entry_by_use ON entry (last_used)',
  lease:
    'CREATE TABLE lease (key BLOB PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, host TEXT NOT NULL, beat INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT',
  tuning:
    'CREATE TABLE tuning (problem TEXT NOT NULL, device TEXT NOT NULL, plan TEXT NOT NULL, sha BLOB NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (problem, device)) STRICT',
};

export function readNumber(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value !== 'number') throw new StoreFault('BROKEN', `no number in ${column}`);
  return value;
}

function pragma(connection: Connection, name: string): number {
  return readNumber(connection.prepare(`PRAGMA ${name}`).get(), name);
}

/** Fills an empty database: header, tables, and WAL proven by a real write. */
export function writeSchema(connection: Connection): void {
  connection.exec('PRAGMA synchronous = OFF');
  connection.exec('PRAGMA auto_vacuum = INCREMENTAL');
  connection.exec('BEGIN IMMEDIATE');
  connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  for (const statement of Object.values(TABLES)) connection.exec(statement);
  connection.exec('COMMIT');
}

/**
 * Switches to write-ahead logging, writes through it and reads back. Some file systems answer
 * `wal` and then fail at the first write, so the answer alone proves nothing.
 */
export function proveWriteAheadLog(connection: Connection, logBytes: () => number): void {
  connection.exec('PRAGMA journal_mode = WAL');
  connection.exec('BEGIN IMMEDIATE');
  connection.exec("INSERT INTO meta VALUES ('probe', 'written')");
  connection.exec('COMMIT');
  if (logBytes() === 0) throw new StoreFault('NO_WAL', 'there is no write-ahead log');
  // Fails by its NOT NULL where the row above is not there.
  connection.exec(
    "INSERT INTO meta SELECT 'probe-read', max(value) FROM meta WHERE name = 'probe'",
  );
}

/**
 * Whose database this is. Ours is one with our number and some table of ours, or one with just our
 * tables under a damaged number; anything else belongs to another program.
 */
export function databaseOwner(connection: Connection): 'ours' | 'foreign' {
  const numbered = pragma(connection, 'application_id') === APPLICATION_ID;
  const names = connection
    .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
    .all();
  const known = names.filter(({ name }) => typeof name === 'string' && Object.hasOwn(TABLES, name));
  const all = known.length === Object.keys(TABLES).length && known.length === names.length;
  return all || (numbered && (known.length > 0 || names.length === 0)) ? 'ours' : 'foreign';
}

/** Throws BROKEN unless number, version and every table, index, view and trigger are exactly ours. */
export function checkSchema(connection: Connection): void {
  const version = pragma(connection, 'user_version');
  if (version !== SCHEMA_VERSION || pragma(connection, 'application_id') !== APPLICATION_ID) {
    throw new StoreFault('BROKEN', `schema ${version} under the name of another`);
  }
  const rows = connection
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
    .all();
  const sound = rows.every(({ name, sql }) => typeof name === 'string' && TABLES[name] === sql);
  if (!sound || rows.length !== Object.keys(TABLES).length) {
    throw new StoreFault('BROKEN', 'the tables are not those of this schema');
  }
}

/** Settings of a connection; `logPages` bounds the write-ahead log between checkpoints. */
export function configure(connection: Connection, logPages: number): void {
  connection.exec('PRAGMA trusted_schema = OFF');
  connection.exec('PRAGMA cell_size_check = ON');
  connection.exec('PRAGMA mmap_size = 0');
  // No fsync on the event loop. A killed process loses nothing by it; after a power failure the
  // checksums and the repair find what is missing, and it is compiled again.
  connection.exec('PRAGMA synchronous = OFF');
  connection.exec(`PRAGMA wal_autocheckpoint = ${logPages}`);
  connection.exec(`PRAGMA journal_size_limit = ${logPages * 4096}`);
}
