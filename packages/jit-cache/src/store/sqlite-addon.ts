import { loadAddon } from '@mercer/cpu-runtime';
import { packageRoot } from '../package-root.js';
import type { Driver, Row, SqlValue } from './driver-types.js';
import { StoreFault } from './store-fault.js';

/**
 * What the addon exports; connections and statements are its handles. While a worker thread is being ended, Node refuses the addon's
 * calls and JavaScript still runs for a moment: then exports are missing and results undefined.
 */
interface SqliteAddon {
  /** SQLite's version. */
  readonly version: string;
  readonly open?: (location: string, readOnly: boolean) => object | undefined;
  close(connection: object): void;
  execute(connection: object, sql: string): void;
  prepare(connection: object, sql: string): object | undefined;
  /** The first `limit` rows of a statement. */
  run(statement: object, values: readonly SqlValue[], limit: number): Row[] | undefined;
}

/** @throws StoreFault ENDED for a result that no call of a thread that goes on has */
function present<T>(result: T | undefined): T {
  if (result === undefined) throw new StoreFault('ENDED', 'this thread is being ended');
  return result;
}

/**
 * SQLite in this package's own addon, for Node without `node:sqlite`: errors have the same `code` and `errcode`. Calls throw
 * StoreFault ENDED while their worker thread is being ended.
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
      const connection = present(present(addon.open)(location, readOnly));
      return {
        exec: (sql) => {
          addon.execute(connection, sql);
        },
        prepare(sql) {
          const statement = present(addon.prepare(connection, sql));
          const rows = (values: readonly SqlValue[], limit: number) =>
            present(addon.run(statement, values, limit));
          return {
            get: (...values) => rows(values, 1)[0],
            all: (...values) => rows(values, Infinity),
            run: (...values) => rows(values, Infinity),
          };
        },
        close: () => {
          addon.close(connection);
        },
      };
    },
  };
}
