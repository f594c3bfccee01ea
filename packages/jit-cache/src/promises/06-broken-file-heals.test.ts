import {
  copyFileSync,
  existsSync,
  openSync,
  closeSync,
  readFileSync,
  readdirSync,
  renameSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeBinary, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, testSystem } from '../testing/test-system.test-support.js';
import type { CacheStats } from '../types.js';

const NAME = 'kernels-v1.sqlite';
const unit = fakeUnit('healing');

function asides(directory: string): string[] {
  return readdirSync(directory).filter((name) => /broken-[^-]*(-\d+)?$/.test(name));
}

async function made(directory: string): Promise<string> {
  const cache = JitCache.open({ directory });
  for (let n = 0; n < 12; n++) await cache.get(fakeUnit(`filling ${n}`), fakeToolchain());
  await cache.close();
  return join(directory, NAME);
}

/** The cache must work on disk here, twice: compile and store, then find. */
async function assertWorks(directory: string): Promise<CacheStats> {
  const warnings: string[] = [];
  const onWarning = ({ message }: { message: string }): number => warnings.push(message);
  let stats: CacheStats | undefined;
  for (const expected of ['compiled', 'store']) {
    const cache = JitCache.open({ directory, onWarning });
    const { origin, binary } = await cache.get(unit, fakeToolchain());
    expect(origin).toBe(expected);
    expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
    stats ??= await cache.stats();
    await cache.close();
  }
  expect(warnings).toEqual([]);
  if (!stats) throw new Error('no statistics');
  return stats;
}

const breakages: Record<string, (file: string) => void> = {
  garbage: (file) => {
    writeFileSync(file, Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
  },
  'an empty file': (file) => {
    writeFileSync(file, '');
  },
  'a truncated file': (file) => {
    truncateSync(file, 3 * 4096 + 17);
  },
  'a newer schema under this name': (file) => {
    loadDriver().open(file, { readOnly: false }).exec('PRAGMA user_version = 2');
  },
  'a table more': (file) => {
    loadDriver().open(file, { readOnly: false }).exec('CREATE TABLE more (x)');
  },
  'a table fewer': (file) => {
    loadDriver().open(file, { readOnly: false }).exec('DROP TABLE lease');
  },
  'a trigger': (file) => {
    const sql = 'CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END';
    loadDriver().open(file, { readOnly: false }).exec(sql);
  },
  'a damaged number': (file) => {
    loadDriver().open(file, { readOnly: false }).exec('PRAGMA application_id = 7');
  },
};

test.each(Object.entries(breakages))('%s is set aside and built anew', async (_, breakIt) => {
  const directory = temporaryDirectory();
  breakIt(await made(directory));
  const stats = await assertWorks(directory);
  expect(stats.counters.setAside).toBe(1);
  expect(asides(directory)).toHaveLength(1);
});

test('at most two broken files are kept', async () => {
  const directory = temporaryDirectory();
  const file = await made(directory);
  for (let n = 0; n < 4; n++) {
    writeFileSync(file, `garbage ${n}`);
    const cache = JitCache.open({ directory });
    await cache.get(fakeUnit(`round ${n}`), fakeToolchain());
    await cache.close();
  }
  const kept = asides(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  expect(kept.sort()).toEqual(['garbage 2', 'garbage 3']);
});

test.each([0, 0x0f055112])(
  'the database of another program (number %i) stays as it is',
  async (number) => {
    const directory = temporaryDirectory();
    const file = join(directory, NAME);
    const foreign = loadDriver().open(file, { readOnly: false });
    foreign.exec('CREATE TABLE notes (text)');
    foreign.exec(`PRAGMA application_id = ${number}`);
    foreign.exec("INSERT INTO notes VALUES ('precious')");
    foreign.exec('PRAGMA journal_mode = WAL');
    foreign.close();
    const before = readFileSync(file);
    const codes: string[] = [];
    const cache = JitCache.open({ directory, onWarning: ({ code }) => codes.push(code) });
    const { binary } = await cache.get(unit, fakeToolchain());
    expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
    expect((await cache.stats()).state).toBe('memory');
    await cache.close();
    expect(codes).toEqual(['FOREIGN_DATABASE']);
    expect(Buffer.compare(readFileSync(file), before)).toBe(0);
    expect(readdirSync(directory)).toEqual([NAME]);
  },
);

test('a foreign database that carries our number is known by its tables', async () => {
  const directory = temporaryDirectory();
  const file = await made(directory);
  const connection = loadDriver().open(file, { readOnly: false });
  for (const table of ['meta', 'entry', 'lease', 'tuning']) connection.exec(`DROP TABLE ${table}`);
  connection.exec('CREATE TABLE notes (text)');
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
  const before = readFileSync(file);
  const cache = JitCache.open({ directory, onWarning: () => undefined });
  await cache.get(unit, fakeToolchain());
  expect((await cache.stats()).state).toBe('memory');
  await cache.close();
  expect(Buffer.compare(readFileSync(file), before)).toBe(0);
});

test('eight processes that meet garbage together all succeed, and one file is set aside', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, NAME), Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
  const children = Array.from({ length: 8 }, (_, n) =>
    startChild(
      { cache: { directory }, waits: true },
      { kind: 'get', units: [fakeUnit('shared'), fakeUnit(`own ${n}`)] },
    ),
  );
  await Promise.all(children.map((child) => child.line('ready')));
  for (const child of children) child.begin();
  const results = await Promise.all(children.map(({ result }) => result));
  expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
  expect(results.map(({ stats }) => stats.state)).toEqual(Array(8).fill('disk'));
  expect(results.reduce((sum, { stats }) => sum + stats.counters.setAside, 0)).toBe(1);
  const cache = JitCache.open({ directory });
  expect(await cache.verify()).toEqual({ checked: 9, corrupt: 0 });
  await cache.close();
});

test('what another process has healed meanwhile is not set aside', async () => {
  const directory = temporaryDirectory();
  const file = await made(directory);
  const healthy = join(temporaryDirectory(), NAME);
  copyFileSync(file, healthy);
  writeFileSync(file, Buffer.alloc(8192, 'garbage'));
  // Between our diagnosis and our lock, the other process finishes its repair.
  const driver = spiedDriver((sql, location) => {
    if (sql === 'BEGIN EXCLUSIVE' && existsSync(healthy)) renameSync(healthy, file);
    expect(location).toContain(directory);
  });
  const cache = new JitCache({ directory }, testSystem({ driver: () => driver }));
  expect((await cache.get(fakeUnit('filling 3'), fakeToolchain())).origin).toBe('store');
  expect((await cache.stats()).counters.setAside).toBe(0);
  expect(asides(directory)).toEqual([]);
  await cache.close();
});

test('a file that breaks while it is in use is set aside, and the call succeeds', async () => {
  const directory = temporaryDirectory();
  const file = await made(directory);
  const cache = JitCache.open({ directory });
  expect((await cache.get(fakeUnit('filling 0'), fakeToolchain())).origin).toBe('store');
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(readFileSync(file).length - 4096, 0xa5), 0, undefined, 4096);
  closeSync(handle);
  const { origin, binary } = await cache.get(unit, fakeToolchain());
  expect(origin).toBe('compiled');
  expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
  const { state, counters } = await cache.stats();
  expect({ state, setAside: counters.setAside }).toEqual({ state: 'disk', setAside: 1 });
  await cache.close();
  const again = JitCache.open({ directory });
  expect((await again.get(unit, fakeToolchain())).origin).toBe('store');
  await again.close();
});

test('a file removed while it is in use is made again, and what is written is found', async () => {
  const directory = temporaryDirectory();
  const file = await made(directory);
  const cache = JitCache.open({ directory });
  await cache.get(fakeUnit('filling 0'), fakeToolchain());
  for (const end of ['', '-wal', '-shm']) {
    if (existsSync(file + end)) renameSync(file + end, join(directory, `gone${end}`));
  }
  expect((await cache.get(unit, fakeToolchain())).origin).toBe('compiled');
  await cache.close();
  const again = JitCache.open({ directory });
  expect((await again.get(unit, fakeToolchain())).origin).toBe('store');
  await again.close();
});
