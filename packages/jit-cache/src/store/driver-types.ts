/** What SQLite can hold. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** A row of a result, by the names of its columns. */
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

/** A way to SQLite. Errors of both have `errcode`, SQLite's extended result code. */
export interface Driver {
  readonly name: string;
  /** @param location an absolute path, or a `file:` URI */
  open(location: string, options: { readonly readOnly: boolean }): Connection;
}
