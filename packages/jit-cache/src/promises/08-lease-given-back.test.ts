import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { compilesIn, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, sqliteError, testSystem } from '../testing/test-system.test-support.js';

/** A lease lasts 10 s without a heartbeat: whoever waits for one that nobody holds waits that long. */
const SOON_MS = 4000;

function leases(directory: string): unknown[] {
  const reader = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: true });
  const rows = reader.prepare('SELECT owner FROM lease').all();
  reader.close();
  return rows;
}

test.each([
  [13, 'database or disk is full'],
  [10, 'disk I/O error'],
  [7, 'out of memory'],
  [8, 'attempt to write a readonly database'],
  [14, 'unable to open database file'],
])('after result code %i (%s) instead of the entry, no lease is left', async (errcode, message) => {
  const directory = temporaryDirectory();
  const driver = spiedDriver((sql) => {
    if (sql.startsWith('INSERT OR REPLACE INTO entry')) throw sqliteError(errcode, message);
  });
  const system = testSystem({ driver: () => driver });
  const cache = new JitCache({ directory, onWarning: () => undefined }, system);
  const units = Array.from({ length: 4 }, (_, n) => fakeUnit(`full ${n}`));
  // All four have their leases when the first finds that nothing can be stored.
  await cache.getAll(units, fakeToolchain({ delayMs: 200 }), { concurrency: 4 });
  const other = JitCache.open({ directory });
  const started = performance.now();
  await other.getAll(units, fakeToolchain(), { concurrency: 1 });
  expect(performance.now() - started).toBeLessThan(SOON_MS);
  expect((await other.stats()).counters).toMatchObject({ compiles: 4, waited: 0 });
  expect(leases(directory)).toEqual([]);
  await other.close();
  await cache.close();
});

test('a compile that fails after writing was given up leaves no lease', async () => {
  const directory = temporaryDirectory();
  const driver = spiedDriver((sql) => {
    if (sql.startsWith('INSERT OR REPLACE INTO entry')) throw sqliteError(13, 'full');
  });
  const system = testSystem({ driver: () => driver });
  const cache = new JitCache({ directory, onWarning: () => undefined }, system);
  const failing = cache.get(fakeUnit('fails'), fakeToolchain({ delayMs: 200, fails: true }));
  await cache.get(fakeUnit('first'), fakeToolchain({ delayMs: 50 }));
  await expect(failing).rejects.toThrow('the fake compiler failed');
  expect(leases(directory)).toEqual([]);
  await cache.close();
});

test('an entry that is too large, or comes while the log is full, leaves no lease', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory, maxBytes: 2 ** 20 });
  const large = fakeToolchain({ bytes: 2 ** 19 });
  expect((await cache.get(fakeUnit('large'), large)).origin).toBe('compiled');
  expect((await cache.stats()).counters).toMatchObject({ stored: 0, notStored: 1 });
  expect(leases(directory)).toEqual([]);
  await cache.close();
});

test.for([0, 24_576])('a disk of which %i bytes are left: nobody waits', async (left, context) => {
  const directory = join(temporaryDirectory(), 'small');
  mkdirSync(directory);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    context.skip('mounting a small tmpfs needs rights that this user does not have');
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', directory]);
  });
  const counterFile = join(temporaryDirectory(), 'count');
  const toolchain = fakeToolchain({ bytes: 60_000, counterFile, delayMs: 500 });
  const settings = { directory, onWarning: () => undefined };
  const first = JitCache.open(settings);
  await first.get(fakeUnit('before'), toolchain);
  const unit = fakeUnit('while full');
  const compiling = first.get(unit, toolchain);
  // With the lease taken, somebody else fills the disk.
  while (leases(directory).length === 0) await sleep(5);
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(join(directory, 'kernels-v1.filling'), Buffer.alloc(bavail * bsize - left), {
    mode: 0o600,
  });
  await compiling;
  expect((await first.stats()).counters).toMatchObject({ stored: 1, notStored: 1 });
  const second = JitCache.open(settings);
  const started = performance.now();
  expect((await second.get(unit, toolchain)).origin).toBe('compiled');
  expect(performance.now() - started).toBeLessThan(SOON_MS);
  expect((await second.get(fakeUnit('before'), toolchain)).origin).toBe('store');
  expect(compilesIn(counterFile)).toHaveLength(3);
  await second.close();
  await first.close();
});
