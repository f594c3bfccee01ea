import { createRequire } from 'node:module';

/** What SQLite can hold. */
export type SqlValue = null | number | bigint | string | Uint8Array;
export type Row = Readonly<Record<string, SqlValue>>;

/** The few members of a prepared statement that the cache uses. */
export interface Statement {
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  run(...values: SqlValue[]): unknown;
}

/** The few members of a connection that the cache uses. */
export interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** A SQLite binding. */
export interface Driver {
  readonly name: string;
  /** @param location an absolute path, or a `file:` URI */
  open(location: string, options: { readonly readOnly: boolean }): Connection;
}

interface NativeConnection extends Connection {
  enableDefensive?(active: boolean): void;
}

interface SqliteModule {
  DatabaseSync: new (location: string, options: { readOnly: boolean }) => NativeConnection;
}

function isSqliteModule(value: unknown): value is SqliteModule {
  return typeof value === 'object' && value !== null && 'DatabaseSync' in value;
}

function adapt(name: string, { DatabaseSync }: SqliteModule): Driver {
  return {
    name,
    open(location, options) {
      const connection = new DatabaseSync(location, options);
      connection.enableDefensive?.(true);
      // The binding is synchronous: a wait inside SQLite would stop the event loop.
      connection.exec('PRAGMA busy_timeout = 0');
      return connection;
    },
  };
}

let loaded: Driver | null | undefined;

/** `node:sqlite` where Node has it, else the optional peer `@photostructure/sqlite`, else undefined. */
export function loadDriver(): Driver | undefined {
  if (loaded !== undefined) return loaded ?? undefined;
  const require = createRequire(import.meta.url);
  for (const name of ['node:sqlite', '@photostructure/sqlite']) {
    try {
      const module: unknown = require(name);
      if (isSqliteModule(module)) return (loaded = adapt(name, module));
    } catch {
      // Not there, or its binary does not fit: the next one, and in the end memory with a warning.
    }
  }
  loaded = null;
  return undefined;
}
