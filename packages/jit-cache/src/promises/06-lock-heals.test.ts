import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { runChild, startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, testSystem } from '../testing/test-system.test-support.js';

const DATABASE = 'kernels-v1.sqlite';
const LOCK = 'kernels-v1.lock';
const OTHER = 12_345;

function foreign(path: string): void {
  const connection = loadDriver().open(path, { readOnly: false });
  connection.exec('CREATE TABLE notes (text)');
  connection.exec('PRAGMA journal_mode = WAL');
  connection.exec("INSERT INTO notes VALUES ('precious')");
  connection.close();
}

const damages: Record<string, (lock: string) => void> = {
  garbage: (lock) => {
    writeFileSync(lock, Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
  },
  'one byte': (lock) => {
    writeFileSync(lock, 'x', { mode: 0o600 });
  },
  'the beginning of a database': (lock) => {
    writeFileSync(lock, 'SQLite format 3\0', { mode: 0o600 });
  },
  'no bytes': (lock) => {
    writeFileSync(lock, '', { mode: 0o600 });
  },
  'the database of another program': foreign,
  'a folder': (lock) => {
    mkdirSync(lock);
  },
  'a folder with something in it': (lock) => {
    mkdirSync(lock);
    writeFileSync(join(lock, 'precious'), '');
  },
  'a symbolic link to a file': (lock) => {
    writeFileSync(`${lock}-target`, 'precious');
    symlinkSync(`${lock}-target`, lock);
  },
  'a symbolic link to nothing': (lock) => {
    symlinkSync(join(lock, '..', '..', 'nothing'), lock);
  },
  'mode 0666': (lock) => {
    writeFileSync(lock, '');
    chmodSync(lock, 0o666);
  },
  'a folder in place of its journal': (lock) => {
    mkdirSync(`${lock}-journal`);
  },
  'garbage in place of its log': (lock) => {
    writeFileSync(`${lock}-wal`, Buffer.alloc(4096, 'garbage'));
  },
};

/** What stands in the folder, with its bytes, so that what is not ours can be seen to stay. */
function content(path: string): unknown {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return readdirSync(path);
  return stat?.isFile() ? readFileSync(path, 'latin1') : stat?.isSymbolicLink();
}

async function works(directory: string, source: string): Promise<void> {
  const warnings: string[] = [];
  for (const expected of ['compiled', 'store']) {
    const cache = JitCache.open({
      directory,
      onWarning: ({ message }) => warnings.push(message),
    });
    expect((await cache.get(fakeUnit(source), fakeToolchain())).origin).toBe(expected);
    expect((await cache.stats()).state).toBe('disk');
    await cache.close();
  }
  expect(warnings).toEqual([]);
}

test.each(Object.entries(damages))(
  '%s in place of the lock: the store is made, repaired, and made again',
  async (_, damage) => {
    const directory = temporaryDirectory();
    const lock = join(directory, LOCK);
    damage(lock);
    const before = content(lock);
    await works(directory, 'made');
    writeFileSync(join(directory, DATABASE), Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
    await works(directory, 'repaired');
    rmSync(join(directory, DATABASE));
    await works(directory, 'made again');
    if (before !== undefined) expect(content(lock)).toEqual(before);
  },
);

test('an ordinary user whose lock has lost every right', async (context) => {
  if (process.getuid?.() !== 0) context.skip('becoming an ordinary user needs root');
  const directory = temporaryDirectory();
  chownSync(directory, OTHER, OTHER);
  const lock = join(directory, LOCK);
  writeFileSync(lock, '');
  chownSync(lock, OTHER, OTHER);
  chmodSync(lock, 0);
  const found = await runChild(
    { cache: { directory }, uid: OTHER },
    { kind: 'get', units: [fakeUnit('mode 0')] },
  );
  expect(found.warnings).toEqual([]);
  expect(found.stats.state).toBe('disk');
});

test('the lock of another user is passed over', async (context) => {
  if (process.getuid?.() !== 0) context.skip('giving a file away needs root');
  const directory = temporaryDirectory();
  writeFileSync(join(directory, LOCK), '');
  chownSync(join(directory, LOCK), OTHER, OTHER);
  await works(directory, 'other owner');
});

test('eight processes that meet a damaged lock and a damaged store together all succeed', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, LOCK), Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
  writeFileSync(join(directory, DATABASE), Buffer.alloc(8192, 'garbage'), { mode: 0o600 });
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

test('while one holds the lock, others wait for it, and for no other', async () => {
  const directory = temporaryDirectory();
  const holder = loadDriver().open(join(directory, LOCK), { readOnly: false });
  holder.exec('BEGIN EXCLUSIVE');
  const cache = JitCache.open({ directory });
  const got = cache.get(fakeUnit('any'), fakeToolchain());
  await sleep(300);
  expect(existsSync(join(directory, DATABASE))).toBe(false);
  holder.close();
  await got;
  expect((await cache.stats()).state).toBe('disk');
  await cache.close();
});

test('a lock that is damaged between the look at it and the use of it', async () => {
  const directory = temporaryDirectory();
  const lock = join(directory, LOCK);
  const driver = spiedDriver((sql, location) => {
    if (sql === 'BEGIN EXCLUSIVE' && location === lock) writeFileSync(lock, 'garbage');
  });
  const cache = new JitCache({ directory }, testSystem({ driver: () => driver }));
  await cache.get(fakeUnit('any'), fakeToolchain());
  expect((await cache.stats()).state).toBe('disk');
  await cache.close();
});

test('nothing that could be a lock: memory, and one warning that says what to remove', async () => {
  const directory = temporaryDirectory();
  for (const end of ['', ...Array.from({ length: 20 }, (_, n) => `.${n}`)]) {
    mkdirSync(join(directory, LOCK + end));
  }
  const warnings: string[] = [];
  const cache = JitCache.open({ directory, onWarning: ({ message }) => warnings.push(message) });
  expect((await cache.get(fakeUnit('any'), fakeToolchain())).origin).toBe('compiled');
  expect((await cache.stats()).state).toBe('memory');
  await cache.close();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`Remove them: rm -r ${join(directory, LOCK)}*`);
});

const companions: Record<string, (database: string) => void> = {
  'a garbage log': (database) => {
    writeFileSync(`${database}-wal`, Buffer.alloc(20_000, 'garbage'), { mode: 0o600 });
  },
  'garbage shared memory': (database) => {
    writeFileSync(`${database}-shm`, Buffer.alloc(32_768, 'garbage'), { mode: 0o600 });
  },
  'a garbage journal': (database) => {
    writeFileSync(`${database}-journal`, Buffer.alloc(4096, 'garbage'), { mode: 0o600 });
  },
  'a garbage file that was set aside': (database) => {
    writeFileSync(`${database}.broken-20200101T000000000Z`, 'garbage', { mode: 0o600 });
  },
  'the draft of a process of the past': (database) => {
    writeFileSync(`${database}.new-1`, 'garbage', { mode: 0o600 });
  },
};

test.each(Object.entries(companions))('%s beside a sound database', async (_, put) => {
  const directory = temporaryDirectory();
  await works(directory, 'kept');
  put(join(directory, DATABASE));
  const cache = JitCache.open({ directory });
  expect((await cache.get(fakeUnit('kept'), fakeToolchain())).origin).toBe('store');
  expect((await cache.stats()).counters.setAside).toBe(0);
  await cache.close();
  await works(directory, 'new');
});

test('a folder in place of the database is left alone, and named in one warning', async () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, DATABASE));
  writeFileSync(join(directory, DATABASE, 'precious'), '');
  const warnings: string[] = [];
  const cache = JitCache.open({ directory, onWarning: ({ message }) => warnings.push(message) });
  expect((await cache.get(fakeUnit('any'), fakeToolchain())).origin).toBe('compiled');
  await cache.close();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`${join(directory, DATABASE)} is not a regular file. Remove it`);
  expect(existsSync(join(directory, DATABASE, 'precious'))).toBe(true);
});
