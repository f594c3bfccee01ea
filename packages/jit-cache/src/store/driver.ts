import process from 'node:process';
import type { Connection, Driver } from './driver-types.js';
import { addonDriver } from './sqlite-addon.js';
import { StoreFault } from './store-fault.js';

interface NodeConnection extends Connection {
  enableDefensive?(active: boolean): void;
}

interface NodeSqlite {
  DatabaseSync: new (location: string, options: { readOnly: boolean }) => NodeConnection;
}

/** `node:sqlite`, undefined where Node has none. */
function nodeDriver(): Driver | undefined {
  // Under its name alone it would be looked for among packages.
  const module = withoutExperimentalWarning(
    () => process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined,
  );
  if (module === undefined) return undefined;
  const { DatabaseSync } = module;
  return {
    name: 'node:sqlite',
    open(location, options) {
      const connection = new DatabaseSync(location, options);
      connection.enableDefensive?.(true);
      return connection;
    },
  };
}

/** Node 22 warns at the first load that the module may change; users of the cache can do nothing about that. */
function withoutExperimentalWarning<T>(load: () => T): T {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is put back as it was and called on process
  const emit = process.emitWarning;
  process.emitWarning = (...given: unknown[]) => {
    if (given[1] !== 'ExperimentalWarning') Reflect.apply(emit, process, given);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emit;
  }
}

/** The drivers are synchronous: a wait inside SQLite would stop the event loop. */
function withoutWaiting(driver: Driver): Driver {
  return {
    name: driver.name,
    open(location, options) {
      const connection = driver.open(location, options);
      connection.exec('PRAGMA busy_timeout = 0');
      return connection;
    },
  };
}

let loaded: Driver | undefined;

/**
 * `node:sqlite` where Node has it, else SQLite in this package's addon.
 *
 * @throws StoreFault NO_DRIVER
 */
export function loadDriver(): Driver {
  try {
    return (loaded ??= withoutWaiting(nodeDriver() ?? addonDriver()));
  } catch (cause) {
    throw new StoreFault(
      'NO_DRIVER',
      'this Node has no node:sqlite and the addon of @mercer/jit-cache could not be loaded',
      'Use Node 22.13 or newer, or install with optional dependencies: npm install --include=optional.',
      { cause },
    );
  }
}
