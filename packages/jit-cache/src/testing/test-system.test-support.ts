import type { Connection, Driver } from '../store/driver-types.js';
import { loadDriver } from '../store/driver.js';
import { addonDriver } from '../store/sqlite-addon.js';
import { realSystem, type System } from '../store/system.js';

/** The real machine, with some answers of our own. */
export function testSystem(overrides: Partial<System> = {}): System {
  return { ...realSystem(), ...overrides };
}

/** The names of the drivers that this Node can load, for tests that run on each. */
export function driverNames(): string[] {
  return [...new Set([loadDriver().name, addonDriver().name])];
}

export function namedDriver(name: string): Driver {
  return loadDriver().name === name ? loadDriver() : addonDriver();
}

/** Called before each statement with its text and the file of its connection; may throw or kill. */
export type Spy = (sql: string, location: string) => void;

/** The driver of this machine, with a spy before every statement and every opening. */
export function spiedDriver(spy: Spy): Driver {
  const real = loadDriver();
  return {
    name: real.name,
    open(location, options) {
      spy('open', location);
      const inner = real.open(location, options);
      const connection: Connection = {
        exec(sql) {
          spy(sql, location);
          inner.exec(sql);
        },
        close() {
          spy('close', location);
          inner.close();
        },
        prepare(sql) {
          const statement = inner.prepare(sql);
          return {
            get: (...values) => (spy(sql, location), statement.get(...values)),
            all: (...values) => (spy(sql, location), statement.all(...values)),
            run: (...values) => (spy(sql, location), statement.run(...values)),
          };
        },
      };
      return connection;
    },
  };
}

/** An error as the drivers throw it. */
export function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
