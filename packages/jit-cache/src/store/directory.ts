import { existsSync, mkdirSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { checkAncestors, checkOwnDirectory } from './directory-safety.js';
import { unsuitedFileSystem } from './file-system-type.js';
import { isLockFile } from './repair-lock.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

/** Names of files in the cache folder that are ours, whatever their schema version. */
export function isCacheFile(name: string): boolean {
  return name.startsWith('kernels-v');
}

interface Choice {
  readonly path: string;
  /** The folder that must exist already: a home that is missing is not made. */
  readonly base?: string;
}

function absoluteSetting(name: string, value: string): string {
  if (isAbsolute(value)) return value;
  throw new StoreFault(
    'INVALID_SETTING',
    `${name}=${value} is not an absolute path`,
    'Set it to one that begins with /.',
  );
}

function choose(system: System, option: string | undefined): Choice {
  if (option !== undefined) return { path: resolve(option) };
  const { MERCER_CACHE_DIR: own, XDG_CACHE_HOME: shared, HOME } = system.env;
  if (own) return { path: absoluteSetting('MERCER_CACHE_DIR', own) };
  // Relative paths in XDG variables are to be ignored, says their specification.
  if (shared && isAbsolute(shared)) return { path: join(shared, 'mercer') };
  const home = HOME || system.homeDirectory();
  if (home && isAbsolute(home)) return { path: join(home, '.cache', 'mercer'), base: home };
  throw new StoreFault(
    'NO_HOME',
    'there is no home folder',
    'Set MERCER_CACHE_DIR to a folder of your own.',
  );
}

function make(choice: Choice, system: System, create = true): void {
  if (choice.base !== undefined && !existsSync(choice.base)) {
    throw new StoreFault(
      'NO_HOME',
      `the home folder ${choice.base} does not exist`,
      'Set MERCER_CACHE_DIR to a folder of your own.',
    );
  }
  checkAncestors(choice.path, system);
  if (create) mkdirSync(choice.path, { recursive: true, mode: 0o700 });
  checkOwnDirectory(choice.path, system, isCacheFile, (name) => !isLockFile(name));
}

/** A private folder on this machine's own disk, for when the usual one is on a network. */
export function makeLocalDirectory(system: System): string {
  const user = system.uid === undefined ? 'user' : String(system.uid);
  const path = join(system.temporaryDirectory, `mercer-${user}`);
  make({ path }, system);
  const kind = unsuitedFileSystem(system.fileSystemType(path));
  if (kind !== undefined) {
    throw new StoreFault('NETWORK_FILE_SYSTEM', `${path} is on ${kind} as well`);
  }
  return path;
}

/** The folder of the cache, made where missing, and proven private and ours. */
export interface CacheDirectory {
  readonly path: string;
  /** Why the usual folder was passed over. */
  readonly avoided?: StoreFault;
}

/**
 * Finds the folder: the option, MERCER_CACHE_DIR, XDG_CACHE_HOME/mercer, ~/.cache/mercer; a
 * node-local one where that is on a network file system. Throws a StoreFault or the error of
 * the file system.
 */
export function findDirectory(
  system: System,
  option: string | undefined,
  create: boolean,
): CacheDirectory {
  const choice = choose(system, option);
  make(choice, system, create);
  const kind = unsuitedFileSystem(system.fileSystemType(choice.path));
  if (kind === undefined) return { path: choice.path };
  const avoided = new StoreFault(
    'NETWORK_FILE_SYSTEM',
    `${choice.path} is on ${kind}, where SQLite's write-ahead log cannot be trusted`,
  );
  return { path: makeLocalDirectory(system), avoided };
}
