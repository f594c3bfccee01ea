import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, testSystem } from '../testing/test-system.test-support.js';

const MAX = 2 ** 21;

function sizeOf(directory: string): number {
  const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function unitsOf(writer: number, count: number): ReturnType<typeof fakeUnit>[] {
  return Array.from({ length: count }, (_, n) => fakeUnit(`${writer}/${n}`));
}

test('four processes write five times the bound while a reader pins the log', async () => {
  const directory = temporaryDirectory();
  const first = JitCache.open({ directory, maxBytes: MAX });
  await first.get(fakeUnit('first'), fakeToolchain());
  await first.close();
  const reader = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM entry').get();

  const children = Array.from({ length: 4 }, (_, writer) =>
    startChild(
      { cache: { directory, maxBytes: MAX }, toolchain: { bytes: 50_000 } },
      { kind: 'get', units: unitsOf(writer, 54) },
    ),
  );
  let largest = 0;
  const watch = setInterval(() => (largest = Math.max(largest, sizeOf(directory))), 20);
  const results = await Promise.all(children.map(({ result }) => result));
  clearInterval(watch);
  expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
  // Even pinned, the log does not grow without end: it is left alone instead of written to.
  expect(largest).toBeLessThan(1.5 * MAX);
  expect(results.some(({ stats }) => stats.counters.notStored > 0)).toBe(true);
  reader.exec('COMMIT');
  reader.close();

  const cache = JitCache.open({ directory, maxBytes: MAX });
  for (const unit of unitsOf(9, 60)) await cache.get(unit, fakeToolchain({ bytes: 50_000 }));
  const { counters, entries } = await cache.stats();
  expect(counters.evicted).toBeGreaterThan(20);
  expect(counters.stored).toBe(60);
  expect(entries).toBeGreaterThan(15);
  await cache.close();
  expect(sizeOf(directory)).toBeLessThanOrEqual(1.1 * MAX);
});

test('the least recently used go first, and hits count as use', async () => {
  const directory = temporaryDirectory();
  let now = Date.now();
  const system = testSystem({ now: () => now });
  const names = Array.from({ length: 20 }, (_, n) => `entry ${n}`);
  const fill = new JitCache({ directory, maxBytes: MAX }, system);
  for (const name of names) {
    await fill.get(fakeUnit(name), fakeToolchain({ bytes: 50_000 }));
    now += 60_000;
  }
  await fill.close();
  now += 7_200_000;
  const used = new JitCache({ directory, maxBytes: MAX }, system);
  for (const name of names.slice(0, 5)) await used.get(fakeUnit(name), fakeToolchain());
  await used.close();

  now += 60_000;
  const prune = new JitCache({ directory, maxBytes: MAX }, system);
  const evicted = await prune.prune({ maxBytes: MAX / 2 });
  const left = await prune.list();
  expect(evicted).toBe(20 - left.length);
  expect(left.length).toBeGreaterThan(8);
  expect(left.length).toBeLessThan(16);
  await prune.close();
  const check = new JitCache({ directory, mode: 'ro' }, system);
  const origins = new Map<string, string>();
  for (const name of names) {
    origins.set(name, (await check.get(fakeUnit(name), fakeToolchain())).origin);
  }
  await check.close();
  const kept = names.filter((name) => origins.get(name) === 'store');
  const expected = [...names.slice(0, 5), ...names.slice(20 - (left.length - 5))];
  expect(kept).toEqual(expected);
  expect(sizeOf(directory)).toBeLessThan(MAX / 2 + 40_000);
});

test('a hit within the hour writes nothing; a later one writes once, behind', async () => {
  const directory = temporaryDirectory();
  let now = Date.now();
  const writes: string[] = [];
  const driver = spiedDriver((sql) => {
    if (sql === 'BEGIN IMMEDIATE' || sql.startsWith('UPDATE')) writes.push(sql);
  });
  const system = testSystem({ now: () => now, driver: () => driver });
  const open = (): JitCache => new JitCache({ directory }, system);
  const first = open();
  for (const name of ['a', 'b', 'c']) await first.get(fakeUnit(name), fakeToolchain());
  await first.close();
  writes.length = 0;
  const second = open();
  for (const name of ['a', 'b', 'c']) await second.get(fakeUnit(name), fakeToolchain());
  await second.close();
  expect(writes).toEqual([]);
  now += 3_700_000;
  const third = open();
  for (const name of ['a', 'b', 'c']) await third.get(fakeUnit(name), fakeToolchain());
  expect(writes).toEqual([]);
  await third.close();
  expect(writes.filter((sql) => sql === 'BEGIN IMMEDIATE')).toHaveLength(1);
  expect(writes.filter((sql) => sql.startsWith('UPDATE'))).toHaveLength(3);
});

test('a program that ends without closing has counted its hits as use', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory });
  await cache.get(fakeUnit('used at the end'), fakeToolchain());
  await cache.close();
  const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: false });
  connection.exec('UPDATE entry SET last_used = 5');
  const built = (name: string): string => new URL(`../../dist/${name}.js`, import.meta.url).href;
  const script = `
    import { JitCache } from '${built('cache')}';
    import { fakeToolchain, fakeUnit } from '${built('testing/fake-toolchain.test-support')}';
    const cache = JitCache.open({ directory: ${JSON.stringify(directory)} });
    const { origin } = await cache.get(fakeUnit('used at the end'), fakeToolchain());
    process.stdout.write(origin);
    process.exit();`;
  const args = ['--input-type=module', '-e', script];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('store');
  const row = connection.prepare('SELECT last_used FROM entry').get();
  expect(Number(row?.['last_used'])).toBeGreaterThan(Date.now() - 60_000);
  connection.close();
});

test('no VACUUM, and space is given back in steps of at most 64 pages', async () => {
  const directory = temporaryDirectory();
  const statements: string[] = [];
  const system = testSystem({ driver: () => spiedDriver((sql) => statements.push(sql)) });
  const cache = new JitCache({ directory, maxBytes: 2 ** 24 }, system);
  for (const unit of unitsOf(0, 40)) await cache.get(unit, fakeToolchain({ bytes: 50_000 }));
  const before = (await cache.stats()).fileBytes;
  expect(await cache.clear()).toBe(40);
  const { fileBytes, usedBytes, logBytes } = await cache.stats();
  expect(before - fileBytes).toBeGreaterThan(40 * 50_000);
  expect(fileBytes).toBe(usedBytes);
  expect(logBytes).toBe(0);
  await cache.close();
  const vacuums = statements.filter((sql) => /vacuum/i.test(sql) && !sql.includes('auto_vacuum'));
  expect(new Set(vacuums)).toEqual(new Set(['PRAGMA incremental_vacuum(64)']));
  expect(vacuums.length).toBeGreaterThan(5);
});

test('an entry that would push out everything else is not stored', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory, maxBytes: MAX });
  await cache.get(fakeUnit('small'), fakeToolchain());
  await cache.get(fakeUnit('huge'), fakeToolchain({ bytes: MAX / 2 }));
  expect((await cache.stats()).counters).toMatchObject({ stored: 1, notStored: 1, evicted: 0 });
  await cache.close();
});
