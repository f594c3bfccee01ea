import { chmodSync, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

const STICKY = 0o1000;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

function refuse(path: string, why: string, fix: string): never {
  throw new StoreFault('UNSAFE_DIRECTORY', `${path} ${why}`, fix);
}

function octal(stat: Stats): string {
  return (stat.mode & 0o7777).toString(8).padStart(4, '0');
}

/** A user's own private group may write: the usual umask 002 of systems where each user has one. */
function isPrivateGroup(stat: Stats, system: System): boolean {
  const own = stat.uid === system.uid && stat.gid === system.gid && stat.gid === system.uid;
  return own && (stat.mode & 0o002) === 0;
}

function checkAncestor(path: string, stat: Stats, system: System): void {
  if (stat.uid !== system.uid && stat.uid !== 0) {
    refuse(
      path,
      `belongs to user ${stat.uid}, who could exchange what is below it`,
      'Set MERCER_CACHE_DIR to a folder whose parents belong to you or to root.',
    );
  }
  const sticky = (stat.mode & STICKY) !== 0;
  if ((stat.mode & OTHERS_WRITE) !== 0 && !sticky && !isPrivateGroup(stat, system)) {
    refuse(
      path,
      `can be written by other users (mode ${octal(stat)}), who could exchange what is below it`,
      `Run: chmod go-w ${path}`,
    );
  }
}

/**
 * Walks from the root to `path`, through symbolic links, and throws UNSAFE_DIRECTORY where
 * another user could exchange a component. `path` itself is not judged. Nothing happens where
 * users have no numbers.
 */
export function checkAncestors(path: string, system: System): void {
  if (system.uid === undefined) return;
  const absolute = resolve(path);
  const root = parse(absolute).root;
  let rest = absolute.slice(root.length).split(sep).filter(Boolean);
  let at = root;
  for (let links = 0; rest.length > 1;) {
    const [component = '', ...below] = rest;
    const next = join(at, component);
    const stat = lstatSync(next, { throwIfNoEntry: false });
    // What is missing is made by us, private, below a parent that has just been checked.
    if (stat === undefined) return;
    if (stat.isSymbolicLink()) {
      if (stat.uid !== system.uid && stat.uid !== 0) checkAncestor(next, stat, system);
      if (++links > 40) refuse(next, 'is a loop of symbolic links', 'Remove the loop.');
      const target = resolve(dirname(next), readlinkSync(next));
      const targetRoot = parse(target).root;
      rest = [...target.slice(targetRoot.length).split(sep).filter(Boolean), ...below];
      at = targetRoot;
      continue;
    }
    checkAncestor(next, stat, system);
    at = next;
    rest = below;
  }
}

/** Throws UNSAFE_DIRECTORY unless `path` is a regular file of ours that nobody else may write. */
export function checkOwnFile(path: string, system: System): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isFile()) {
    refuse(path, 'is not a regular file', 'Remove it, or set MERCER_CACHE_DIR elsewhere.');
  }
  if (system.uid === undefined) return;
  if (stat.uid !== system.uid) {
    refuse(
      path,
      `belongs to user ${stat.uid}`,
      'Remove it, or set MERCER_CACHE_DIR to a folder of your own.',
    );
  }
  if ((stat.mode & OTHERS_WRITE) !== 0) {
    refuse(path, `can be written by other users (mode ${octal(stat)})`, `Run: rm ${path}`);
  }
  if ((stat.mode & OTHERS) !== 0) chmodSync(path, stat.mode & 0o600);
}

/**
 * Throws UNSAFE_DIRECTORY unless `path` is a directory of ours with mode 0700 (or less), and makes
 * it so where it holds nothing but our files (`isOurs`). Each of them that carries data must be safe as well.
 */
export function checkOwnDirectory(
  path: string,
  system: System,
  isOurs: (name: string) => boolean,
  carriesData: (name: string) => boolean,
): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) {
    refuse(path, 'is a symbolic link', 'Set MERCER_CACHE_DIR to the folder it leads to.');
  }
  if (!stat.isDirectory()) refuse(path, 'is not a folder', 'Set MERCER_CACHE_DIR to a folder.');
  if (system.uid === undefined) return;
  if (stat.uid !== system.uid) {
    refuse(path, `belongs to user ${stat.uid}`, 'Set MERCER_CACHE_DIR to a folder of your own.');
  }
  if ((stat.mode & OTHERS) !== 0) {
    if (!readdirSync(path).every(isOurs)) {
      refuse(
        path,
        `is open to other users (mode ${octal(stat)}) and holds other things than the cache`,
        `Run: chmod 700 ${path}, or set MERCER_CACHE_DIR to an empty folder.`,
      );
    }
    chmodSync(path, stat.mode & 0o700);
  }
  // From here on nobody else can add or exchange anything in it.
  for (const name of readdirSync(path)) {
    if (isOurs(name) && carriesData(name)) checkOwnFile(join(path, name), system);
  }
}
