import { lstatSync, statSync } from 'node:fs';
import type { Connection, Statement } from './driver-types.js';
import { StoreFault } from './store-fault.js';

/** Which file a path leads to, undefined where it leads to none. */
export function fileIdentity(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/** One open connection to the store: prepared statements, write transactions, sizes. */
export class Database {
  readonly #statements = new Map<string, Statement>();

  constructor(
    readonly connection: Connection,
    readonly path: string,
    /** From {@link fileIdentity}, taken when the file was opened. */
    readonly identity: string,
    /** No lock can be had and nothing written. */
    readonly readOnly: boolean,
  ) {}

  prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.connection.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /**
   * Runs `body` in one write transaction. IMMEDIATE, because a transaction that begins by reading
   * and then writes fails at once when another writer came between. `body` is synchronous: no lock
   * outlives a turn of the event loop.
   */
  transaction<T>(body: () => T): T {
    // A write to a file that was removed or exchanged would succeed into nowhere.
    if (fileIdentity(this.path) !== this.identity) {
      throw new StoreFault('MISSING', `${this.path} is not the file that was opened`);
    }
    this.connection.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.connection.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        this.connection.exec('ROLLBACK');
      } catch {
        // SQLite has rolled back already; the first error is the one to tell.
      }
      throw error;
    }
  }

  /** Bytes of the write-ahead log on disk. */
  logBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  close(): void {
    this.#statements.clear();
    try {
      // The log is emptied as far as other readers allow, also where this connection is not the last.
      if (!this.readOnly) this.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Locked or broken: the next process empties it.
    }
    try {
      this.connection.close();
    } catch {
      // A broken connection may refuse to close properly; there is nothing left to save.
    }
  }
}
