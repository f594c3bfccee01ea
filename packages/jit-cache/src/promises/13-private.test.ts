import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkAncestors } from '../store/directory-safety.js';
import { fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { runChild, startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { testSystem } from '../testing/test-system.test-support.js';
import type { ChildResult } from '../testing/child-jobs.test-support.js';

const isRoot = process.getuid?.() === 0;
const OTHER = 12_345;
/** The user who runs the cache: an ordinary one also where the tests run as root. */
const user = isRoot ? { uid: OTHER } : {};
const units = [fakeUnit('private')];

function give(path: string, owner = OTHER): void {
  if (isRoot) chownSync(path, owner, owner);
}

/** A folder of the ordinary user. */
function home(): string {
  const path = temporaryDirectory();
  give(path);
  return path;
}

function mode(path: string): string {
  return (lstatSync(path).mode & 0o7777).toString(8);
}

async function run(directory: string, umask = 0o022): Promise<ChildResult> {
  return runChild({ cache: { directory }, umask, ...user }, { kind: 'get', units });
}

async function assertRefused(directory: string): Promise<void> {
  const { gets, stats, warnings } = await run(directory);
  expect(gets).toHaveLength(1);
  expect(stats.state).toBe('memory');
  expect(warnings.map(({ code }) => code)).toEqual(['UNSAFE_DIRECTORY']);
}

test.each([0o000, 0o022, 0o077, 0o777])(
  'with umask %o the folder is 0700 and files are 0600',
  async (umask) => {
    const directory = join(home(), 'a', 'cache');
    if (umask === 0o777) {
      // Under this umask nobody can make a folder that its maker could enter.
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const path of [directory, dirname(directory)]) give(path);
    }
    const { stats, warnings } = await run(directory, umask);
    expect({ state: stats.state, warnings }).toEqual({ state: 'disk', warnings: [] });
    expect(mode(directory)).toBe('700');
    const files = readdirSync(directory);
    expect(files).toContain('kernels-v1.sqlite');
    // Also the parent that had to be made.
    expect(mode(dirname(directory))).toBe('700');
    for (const file of files) expect([file, mode(join(directory, file))]).toEqual([file, '600']);
  },
);

test('the log and shared memory of a cache in use are 0600 as well', async () => {
  const directory = join(home(), 'cache');
  const child = startChild(
    { cache: { directory }, umask: 0, ...user },
    { kind: 'timer', durationMs: 1500, unitBytes: 100 },
  );
  // SQLite makes one after the other.
  const made = ['-wal', '-shm'].map((end) => join(directory, `kernels-v1.sqlite${end}`));
  while (!made.every((file) => existsSync(file))) await new Promise((next) => setTimeout(next, 5));
  for (const end of ['', '-wal', '-shm']) {
    expect([end, mode(join(directory, `kernels-v1.sqlite${end}`))]).toEqual([end, '600']);
  }
  await child.result;
});

test('a looser folder that holds only the cache is made 0700, its files 0600', async () => {
  const directory = join(home(), 'cache');
  expect((await run(directory)).stats.state).toBe('disk');
  chmodSync(directory, 0o755);
  chmodSync(join(directory, 'kernels-v1.sqlite'), 0o644);
  const again = await run(directory);
  expect(again.gets[0]?.origin).toBe('store');
  expect(mode(directory)).toBe('700');
  expect(mode(join(directory, 'kernels-v1.sqlite'))).toBe('600');
});

test('a looser folder that holds other things is refused and left as it is', async () => {
  const directory = join(home(), 'shared');
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'thesis.tex'), '');
  give(directory);
  await assertRefused(directory);
  expect(mode(directory)).toBe('755');
  expect(readdirSync(directory)).toEqual(['thesis.tex']);
});

test('a folder of another user is refused', async () => {
  // Everyone may write here, so that only the owner stands against it.
  const directory = isRoot ? join(temporaryDirectory(), 'theirs') : '/usr';
  if (isRoot) {
    mkdirSync(directory);
    chownSync(directory, 54_321, 54_321);
    chmodSync(directory, 0o777);
    chmodSync(dirname(directory), 0o755);
  }
  await assertRefused(directory);
  if (isRoot) expect(readdirSync(directory)).toEqual([]);
});

test('a database of another user is refused', async (context) => {
  if (!isRoot) context.skip('only root can give a file to another user');
  const directory = join(home(), 'cache');
  await run(directory);
  const file = join(directory, 'kernels-v1.sqlite');
  chownSync(file, 54_321, 54_321);
  chmodSync(file, 0o666);
  await assertRefused(directory);
});

test('a database that others may write is refused: its checksums could be theirs', async () => {
  const directory = join(home(), 'cache');
  await run(directory);
  chmodSync(join(directory, 'kernels-v1.sqlite'), 0o622);
  await assertRefused(directory);
});

test('a symbolic link in place of the folder is refused', async () => {
  const base = home();
  mkdirSync(join(base, 'real'), { mode: 0o700 });
  give(join(base, 'real'));
  symlinkSync(join(base, 'real'), join(base, 'link'));
  await assertRefused(join(base, 'link'));
  expect(readdirSync(join(base, 'real'))).toEqual([]);
});

test('a symbolic link in place of the database is refused, and its target left alone', async () => {
  const directory = join(home(), 'cache');
  mkdirSync(directory, { mode: 0o700 });
  give(directory);
  const target = join(dirname(directory), 'target');
  writeFileSync(target, 'precious', { mode: 0o600 });
  give(target);
  symlinkSync(target, join(directory, 'kernels-v1.sqlite'));
  if (isRoot) lchownSync(join(directory, 'kernels-v1.sqlite'), OTHER, OTHER);
  await assertRefused(directory);
  expect(readFileSync(target, 'utf8')).toBe('precious');
});

test.each([
  ['anyone may write above it', 0o777, true],
  ['anyone may write above it, but only owners may remove', 0o1777, false],
  ['only the owner may write above it', 0o755, false],
])('%s', async (_, above, refused) => {
  const base = join(home(), 'above');
  mkdirSync(base);
  chmodSync(base, above);
  give(base);
  const directory = join(base, 'cache');
  if (refused) await assertRefused(directory);
  else expect((await run(directory)).stats.state).toBe('disk');
});

test('a parent that belongs to another user is refused, also behind a link of ours', async (context) => {
  if (!isRoot) context.skip('only root can give a folder to another user');
  const base = home();
  chmodSync(base, 0o755);
  const theirs = join(base, 'theirs');
  const ours = join(theirs, 'ours');
  mkdirSync(ours, { recursive: true });
  chownSync(theirs, 54_321, 54_321);
  give(ours);
  await assertRefused(join(ours, 'cache'));
  symlinkSync(ours, join(base, 'link'));
  await assertRefused(join(base, 'link', 'cache'));
  expect(readdirSync(ours)).toEqual([]);
});

test('a link of our own to a safe place is followed, a loop of links is not', () => {
  const base = temporaryDirectory();
  mkdirSync(join(base, 'real'), { mode: 0o700 });
  symlinkSync('real', join(base, 'link'));
  symlinkSync('loop', join(base, 'loop'));
  const system = testSystem();
  expect(() => {
    checkAncestors(join(base, 'link', 'cache'), system);
  }).not.toThrow();
  expect(() => {
    checkAncestors(join(base, 'loop', 'cache'), system);
  }).toThrow('loop');
});

test("a user's own private group may write above it, any other group may not", () => {
  const base = temporaryDirectory();
  const above = join(base, 'above');
  mkdirSync(above);
  chmodSync(above, 0o775);
  const { uid, gid } = lstatSync(above);
  const check = (system: Parameters<typeof testSystem>[0]): void => {
    checkAncestors(join(above, 'cache'), testSystem(system));
  };
  if (uid === gid)
    expect(() => {
      check({ uid, gid });
    }).not.toThrow();
  expect(() => {
    check({ uid, gid: gid + 1 });
  }).toThrow('can be written by other users');
});
