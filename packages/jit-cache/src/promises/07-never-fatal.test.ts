import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { JitCache } from '../cache.js';
import type { System } from '../store/system.js';
import {
  compilesIn,
  fakeBinary,
  fakeToolchain,
  fakeUnit,
} from '../testing/fake-toolchain.test-support.js';
import { runChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, sqliteError, testSystem } from '../testing/test-system.test-support.js';
import type { CacheWarning } from '../types.js';

const units = [fakeUnit('one'), fakeUnit('two'), fakeUnit('three')];
const root = fileURLToPath(new URL('../..', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** Root may write anywhere: what others meet is tried as another user. */
const OTHER = 12_345;
const other = isRoot ? { uid: OTHER } : {};

function give(path: string): void {
  if (isRoot) chownSync(path, OTHER, OTHER);
}

/** Gets three units: all must be right, with exactly one warning. */
async function assertOneWarning(
  system: Partial<System>,
  directory?: string,
): Promise<CacheWarning> {
  const warnings: CacheWarning[] = [];
  const onWarning = (warning: CacheWarning): number => warnings.push(warning);
  const cache = new JitCache({ ...(directory && { directory }), onWarning }, testSystem(system));
  for (const unit of [...units, ...units]) {
    const { binary } = await cache.get(unit, fakeToolchain());
    expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
  }
  await cache.tuning.set('p', 'd', { tile: 8 });
  expect(await cache.tuning.get('p', 'd')).toEqual({ tile: 8 });
  expect((await cache.stats()).counters).toMatchObject({ compiles: 3, memoryHits: 3, stored: 0 });
  await cache.list();
  await cache.verify();
  await cache.prune();
  await cache.clear();
  await cache.close();
  expect(warnings).toHaveLength(1);
  const [warning] = warnings;
  if (!warning) throw new Error('no warning');
  // What failed: why. How to fix it.
  expect(warning.message).toMatch(/^Compiled kernels are not kept on disk: .+\. [A-Z].+\.$/);
  return warning;
}

test('a folder that may not be written (mode 0555), as an ordinary user', async () => {
  const directory = temporaryDirectory();
  give(directory);
  chmodSync(directory, 0o555);
  const found = await runChild({ cache: { directory }, ...other }, { kind: 'get', units });
  expect(found.gets.map(({ origin }) => origin)).toEqual(['compiled', 'compiled', 'compiled']);
  expect(found.stats.state).toBe('memory');
  expect(found.warnings).toHaveLength(1);
  expect(found.warnings[0]?.message).toContain(directory);
  expect(readdirSync(directory)).toEqual([]);
});

test('a folder that may not be written but holds kernels: hits are served', async () => {
  const directory = temporaryDirectory();
  give(directory);
  const toolchain = { counterFile: join(temporaryDirectory(), 'count') };
  give(join(toolchain.counterFile, '..'));
  const settings = { cache: { directory }, toolchain, ...other };
  await runChild(settings, { kind: 'get', units: units.slice(0, 2) });
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o400);
  chmodSync(directory, 0o500);
  const found = await runChild(settings, { kind: 'get', units });
  expect(found.gets.map(({ origin }) => origin)).toEqual(['store', 'store', 'compiled']);
  expect(found.stats.state).toBe('read-only');
  expect(found.warnings).toHaveLength(1);
  expect(compilesIn(toolchain.counterFile)).toHaveLength(3);
});

test('a home that may not be written, as an ordinary user', async () => {
  const home = temporaryDirectory();
  give(home);
  chmodSync(home, 0o500);
  const env = { HOME: home, XDG_CACHE_HOME: undefined, MERCER_CACHE_DIR: undefined };
  const found = await runChild({ cache: {}, ...other }, { kind: 'get', units }, env);
  expect(found.gets.map(({ origin }) => origin)).toEqual(['compiled', 'compiled', 'compiled']);
  expect(found.stats.state).toBe('memory');
  expect(found.warnings).toHaveLength(1);
  expect(found.warnings[0]?.message).toContain(home);
});

test('a home that does not exist is not made', async () => {
  const HOME = join(temporaryDirectory(), 'nonexistent');
  const { code, message } = await assertOneWarning({ env: { HOME } });
  expect(code).toBe('NO_HOME');
  expect(message).toContain(HOME);
  expect(existsSync(HOME)).toBe(false);
});

test('no home at all', async () => {
  const { code } = await assertOneWarning({ env: {}, homeDirectory: () => undefined });
  expect(code).toBe('NO_HOME');
});

test('a folder that is a file', async () => {
  const directory = join(temporaryDirectory(), 'file');
  writeFileSync(directory, 'not a folder');
  await assertOneWarning({}, directory);
});

test('a relative MERCER_CACHE_DIR is not followed', async () => {
  const { code } = await assertOneWarning({ env: { MERCER_CACHE_DIR: 'cache' } });
  expect(code).toBe('INVALID_SETTING');
});

test('neither node:sqlite nor the addon', () => {
  const copy = join(temporaryDirectory(), 'jit-cache');
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const script = join(copy, 'script.mjs');
  writeFileSync(
    script,
    `import { JitCache } from './dist/index.js';
    import { fakeToolchain, fakeUnit } from './dist/testing/fake-toolchain.test-support.js';
    const warnings = [];
    const cache = JitCache.open({ directory: process.argv[2], onWarning: ({ code, message }) => warnings.push({ code, message }) });
    const origins = [];
    for (const source of ['a', 'b', 'a']) origins.push((await cache.get(fakeUnit(source), fakeToolchain())).origin);
    await cache.close();
    console.log(JSON.stringify({ warnings, origins }));`,
  );
  const flags = process.getBuiltinModule('node:sqlite') ? ['--no-experimental-sqlite'] : [];
  const output = execFileSync(process.execPath, [...flags, script, temporaryDirectory()], {
    encoding: 'utf8',
  });
  expect(JSON.parse(output)).toEqual({
    origins: ['compiled', 'compiled', 'memory'],
    warnings: [
      {
        code: 'NO_DRIVER',
        message:
          'Compiled kernels are not kept on disk: this Node has no node:sqlite and the addon of @mercer/jit-cache ' +
          'could not be loaded. Use Node 22.13 or newer, or install with optional dependencies: npm install --include=optional.',
      },
    ],
  });
});

test.each([
  [13, 'database or disk is full', 'FULL'],
  [8, 'attempt to write a readonly database', 'UNAVAILABLE'],
  [10, 'disk I/O error', 'UNAVAILABLE'],
  [7, 'out of memory', 'UNAVAILABLE'],
])('result code %i in the middle of a write', async (errcode, message, code) => {
  const directory = temporaryDirectory();
  const driver = spiedDriver((sql) => {
    if (sql.startsWith('INSERT OR REPLACE')) throw sqliteError(errcode, message);
  });
  const warning = await assertOneWarning({ driver: () => driver }, directory);
  expect(warning.code).toBe(code);
  expect(warning.message).toContain(message);
});

test('a write lock that never becomes free: bounded waiting, one warning', async () => {
  const directory = temporaryDirectory();
  const first = JitCache.open({ directory });
  await first.get(fakeUnit('makes the file'), fakeToolchain());
  await first.close();
  const driver = spiedDriver((sql) => {
    if (sql === 'BEGIN IMMEDIATE') throw sqliteError(5, 'database is locked');
  });
  // A clock that runs 200 times as fast: the limits stay what they are, the test does not wait.
  const monotonicMs = (): number => performance.now() * 200;
  const warning = await assertOneWarning({ driver: () => driver, monotonicMs }, directory);
  expect(warning.code).toBe('LOCKED');
});

test('a disk that is really full', async (context) => {
  const directory = join(temporaryDirectory(), 'small');
  mkdirSync(directory);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=700', 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    context.skip('mounting a small tmpfs needs rights that this user does not have');
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', directory]);
  });
  const big = Array.from({ length: 6 }, (_, n) => fakeUnit(`big ${n}`));
  const settings = { cache: { directory }, toolchain: { bytes: 60_000 } };
  const found = await runChild(settings, { kind: 'get', units: big });
  expect(found.gets.map(({ origin }) => origin)).toEqual(Array(6).fill('compiled'));
  expect(found.stats.counters.stored).toBeLessThan(6);
  expect(found.warnings.map(({ code }) => code)).toEqual(['FULL']);
  // With the disk still full, what was stored before is still served.
  const again = await runChild(settings, { kind: 'get', units: big });
  expect(again.gets.map(({ sha }) => sha)).toEqual(found.gets.map(({ sha }) => sha));
});
