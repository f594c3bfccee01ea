import { loadAddon } from '@mercer/cpu-runtime';
import { packageRoot } from '../package-root.js';
import type { Driver, Row, SqlValue } from './driver.js';

/** What the addon exports; `Connection` and `Statement` are its handles. */
interface SqliteAddon {
  /** SQLite's version. */
  readonly version: string;
  open(location: string, readOnly: boolean): object;
  close(connection: object): void;
  execute(connection: object, sql: string): void;
  prepare(connection: object, sql: string): object;
  /** The first `limit` rows of a statement. */
  run(statement: object, values: readonly SqlValue[], limit: number): Row[];
}

/**
 * SQLite in this package's own addon, for Node without `node:sqlite`: errors have the same `code` and `errcode`.
 *
 * @throws AddonNotFoundError
 */
export function addonDriver(): Driver {
  const addon = loadAddon(
    'jit-cache',
    packageRoot.href,
    './build/Release/mercer_sqlite.node',
  ) as SqliteAddon;
  return {
    name: `SQLite ${addon.version} of @mercer/jit-cache`,
    open(location, { readOnly }) {
      const connection = addon.open(location, readOnly);
      return {
        exec: (sql) => {
          addon.execute(connection, sql);
        },
        prepare(sql) {
          const statement = addon.prepare(connection, sql);
          return {
            get: (...values) => addon.run(statement, values, 1)[0],
            all: (...values) => addon.run(statement, values, Infinity),
            run: (...values) => addon.run(statement, values, Infinity),
          };
        },
        close: () => {
          addon.close(connection);
        },
      };
    },
  };
}
