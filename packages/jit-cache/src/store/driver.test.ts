import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { loadAddon } from '@mercer/cpu-runtime';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import type { Connection, Driver, SqlValue } from './driver-types.js';
import { loadDriver } from './driver.js';
import { addonDriver } from './sqlite-addon.js';
import { sqliteCode } from './sqlite-error.js';

/** The addon wherever it was built, and `node:sqlite` where Node has it: the store must not see which it is. */
const drivers: Driver[] = [addonDriver()];
if (loadDriver().name === 'node:sqlite') drivers.push(loadDriver());

function codeOf(act: () => unknown): number | string | undefined {
  try {
    act();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return sqliteCode(error) ?? String(code);
  }
  return undefined;
}

function withTable(driver: Driver, sql = 'CREATE TABLE t (x)'): [Connection, string] {
  const path = join(temporaryDirectory(), 'a.sqlite');
  const connection = driver.open(path, { readOnly: false });
  connection.exec(sql);
  return [connection, path];
}

describe.each(drivers)('$name', (driver) => {
  it.each<[string, SqlValue]>([
    ['null', null],
    ['an integer', 7],
    ['the largest safe integer', Number.MAX_SAFE_INTEGER],
    ['the smallest safe integer', Number.MIN_SAFE_INTEGER],
    ['a fraction', -1.5e-300],
    ['infinity', -Infinity],
    ['text', 'Grüße, 你好 🙂'],
    ['no text', ''],
    ['bytes', new Uint8Array([0, 255, 1])],
    ['no bytes', new Uint8Array(0)],
    ['a part of a larger buffer', new Uint8Array(64).fill(3).subarray(8, 24)],
  ])('gives back %s as it was', (_, value) => {
    const [connection] = withTable(driver);
    connection.prepare('INSERT INTO t VALUES (?)').run(value);
    const row = connection.prepare('SELECT x FROM t').get();
    expect(row?.['x']).toEqual(value instanceof Uint8Array ? new Uint8Array(value) : value);
    connection.close();
  });

  it('takes a bigint of 64 bits, and refuses to read an integer that is no safe one', () => {
    const [connection] = withTable(driver);
    const insert = connection.prepare('INSERT INTO t VALUES (?)');
    insert.run(-(2n ** 53n - 1n));
    expect(connection.prepare('SELECT x FROM t').get()).toEqual({ x: -(2 ** 53 - 1) });
    insert.run(2n ** 63n - 1n);
    const all = connection.prepare('SELECT x FROM t ORDER BY x');
    expect(codeOf(() => all.all())).toBe('ERR_OUT_OF_RANGE');
    connection.close();
  });

  it('gives rows in order, the first of many, and undefined for none', () => {
    const [connection] = withTable(driver, 'CREATE TABLE t (x INTEGER, y TEXT) STRICT');
    const insert = connection.prepare('INSERT INTO t VALUES (?, ?)');
    connection.exec('BEGIN');
    for (let n = 0; n < 1000; n++) insert.run(n, `row ${n}`);
    connection.exec('COMMIT');
    const rows = connection.prepare('SELECT x, y FROM t ORDER BY x');
    expect(rows.all()).toHaveLength(1000);
    expect(rows.all()[999]).toEqual({ x: 999, y: 'row 999' });
    expect(rows.get()).toEqual({ x: 0, y: 'row 0' });
    const one = connection.prepare('SELECT y FROM t WHERE x = ?');
    expect(one.get(5)).toEqual({ y: 'row 5' });
    expect(one.get(-5)).toBeUndefined();
    expect(one.all(-5)).toEqual([]);
    connection.close();
  });

  it('keeps nothing locked after a read of the first row', () => {
    const [connection, path] = withTable(driver);
    connection.exec('PRAGMA journal_mode = DELETE');
    connection.exec('INSERT INTO t VALUES (1), (2)');
    connection.prepare('SELECT x FROM t').get();
    const other = driver.open(path, { readOnly: false });
    other.exec('BEGIN EXCLUSIVE');
    other.close();
    connection.close();
    expect(readdirSync(join(path, '..'))).toEqual(['a.sqlite']);
  });

  it('gives the codes of SQLite, extended', () => {
    const [connection, path] = withTable(driver, 'CREATE TABLE t (x NOT NULL UNIQUE)');
    connection.exec('INSERT INTO t VALUES (1)');
    const insert = connection.prepare('INSERT INTO t VALUES (?)');
    expect(codeOf(() => insert.run(1))).toBe(2067); // CONSTRAINT_UNIQUE
    expect(codeOf(() => insert.run(null))).toBe(1299); // CONSTRAINT_NOTNULL
    insert.run(2); // fit for use after an error
    expect(codeOf(() => connection.prepare('SELECT'))).toBe(1);
    expect(
      codeOf(() => {
        connection.exec('nonsense');
      }),
    ).toBe(1);
    const reader = driver.open(path, { readOnly: true });
    expect(
      codeOf(() => {
        reader.exec('INSERT INTO t VALUES (3)');
      }),
    ).toBe(8);
    connection.exec('BEGIN EXCLUSIVE');
    const before = performance.now();
    expect(codeOf(() => reader.prepare('SELECT x FROM t').all())).toBe(5);
    // Nobody waits inside SQLite.
    expect(performance.now() - before).toBeLessThan(500);
    reader.close();
    connection.close();
    const missing = join(temporaryDirectory(), 'none', 'a.sqlite');
    expect(codeOf(() => driver.open(missing, { readOnly: false }))).toBe(14);
    expect(codeOf(() => driver.open(missing, { readOnly: true }))).toBe(14);
  });

  it('reads an immutable file by its address, and makes no file beside it', () => {
    const [connection, path] = withTable(driver);
    connection.exec("INSERT INTO t VALUES ('kept')");
    connection.close();
    const reader = driver.open(`file:${path}?immutable=1`, { readOnly: true });
    expect(reader.prepare('SELECT x FROM t').get()).toEqual({ x: 'kept' });
    reader.close();
    expect(readdirSync(join(path, '..'))).toEqual(['a.sqlite']);
  });

  it('is closed once, with all of its statements, and says so afterwards', () => {
    const [connection, path] = withTable(driver);
    connection.exec('PRAGMA journal_mode = WAL');
    const insert = connection.prepare('INSERT INTO t VALUES (?)');
    insert.run(1);
    const select = connection.prepare('SELECT x FROM t');
    select.get();
    connection.close();
    // The last connection empties and removes the log.
    expect(readdirSync(join(path, '..'))).toEqual(['a.sqlite']);
    for (const act of [
      () => insert.run(2),
      () => select.get(),
      () => connection.prepare('SELECT 1'),
      () => {
        connection.exec('SELECT 1');
      },
      () => {
        connection.close();
      },
    ]) {
      expect(codeOf(act)).toBe('ERR_INVALID_STATE');
    }
  });
});

describe('the addon alone', () => {
  const driver = addonDriver();

  it('lets SQL change none of its own tables', () => {
    const [connection] = withTable(driver);
    connection.exec('PRAGMA writable_schema = ON');
    expect(
      codeOf(() => {
        connection.exec("DELETE FROM sqlite_schema WHERE name = 't'");
      }),
    ).toBe(1);
    connection.close();
  });

  it('refuses values of other kinds', () => {
    const [connection] = withTable(driver);
    const insert = connection.prepare('INSERT INTO t VALUES (?)');
    for (const value of [undefined, true, Symbol('x'), () => 1]) {
      expect(codeOf(() => insert.run(value as unknown as SqlValue))).toBe('ERR_INVALID_ARG_TYPE');
    }
    expect(connection.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 });
    connection.close();
  });

  it('demands a value for each parameter', () => {
    const [connection] = withTable(driver);
    const insert = connection.prepare('INSERT INTO t VALUES (?)');
    expect(codeOf(() => insert.run())).toBe('ERR_INVALID_ARG_VALUE');
    expect(codeOf(() => insert.run(1, 2))).toBe('ERR_INVALID_ARG_VALUE');
    expect(codeOf(() => insert.run({} as unknown as SqlValue))).toBe('ERR_INVALID_ARG_TYPE');
    expect(codeOf(() => insert.run(new Int8Array(1) as unknown as SqlValue))).toBe(
      'ERR_INVALID_ARG_TYPE',
    );
    connection.close();
  });

  it('refuses an integer of more than 64 bits', () => {
    const [connection] = withTable(driver);
    expect(codeOf(() => connection.prepare('INSERT INTO t VALUES (?)').run(2n ** 63n))).toBe(
      'ERR_OUT_OF_RANGE',
    );
    connection.close();
  });

  it('refuses handles that are not its own', () => {
    const addon = loadAddon(
      'jit-cache',
      import.meta.url,
      '../../build/Release/mercer_sqlite.node',
    ) as Record<string, (...values: unknown[]) => unknown>;
    const connection = addon['open']?.(':memory:', false);
    const statement = addon['prepare']?.(connection, 'SELECT 1');
    for (const wrong of [undefined, null, 1, {}, statement]) {
      expect(codeOf(() => addon['prepare']?.(wrong, 'SELECT 1'))).toBe('ERR_INVALID_ARG_TYPE');
    }
    for (const wrong of [undefined, null, 1, {}, connection]) {
      expect(codeOf(() => addon['run']?.(wrong, [], 1))).toBe('ERR_INVALID_ARG_TYPE');
    }
    addon['close']?.(connection);
  });

  it('says so in a worker thread that is being ended, where Node refuses its calls', async () => {
    const script = `
      import { parentPort } from 'node:worker_threads';
      const { addonDriver } = await import(${JSON.stringify(new URL('../../dist/store/sqlite-addon.js', import.meta.url).href)});
      const driver = addonDriver();
      const connection = driver.open(':memory:', { readOnly: false });
      const statement = connection.prepare('SELECT 1 AS x');
      // A call of JavaScript would find out that the thread is being ended: as few as can be are made here.
      const port = parentPort;
      port.postMessage('ready');
      for (;;) {
        try { statement.get().x; } catch (error) { port.postMessage(error.code ?? error.message); }
      }`;
    const told = new Set<string>();
    for (let n = 0; n < 24; n++) {
      const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
      const worker = new Worker(url);
      await new Promise<void>((ready) => {
        worker.on('message', (message: string) => {
          if (message === 'ready') ready();
          else told.add(message);
        });
      });
      await sleep(40);
      await worker.terminate();
    }
    told.delete('ENDED');
    expect([...told]).toEqual([]);
  });

  it('closes a connection that is forgotten', () => {
    const [connection, path] = withTable(driver);
    connection.close();
    const script = `
      import { addonDriver } from ${JSON.stringify(new URL('../../dist/store/sqlite-addon.js', import.meta.url).href)};
      import { readdirSync, readlinkSync } from 'node:fs';
      const open = () => readdirSync('/proc/self/fd').filter((fd) => {
        try { return readlinkSync('/proc/self/fd/' + fd) === process.argv[1]; } catch { return false; }
      }).length;
      const driver = addonDriver();
      const counts = [open()];
      (() => {
        for (let n = 0; n < 20; n++) driver.open(process.argv[1], { readOnly: false }).prepare('SELECT x FROM t').get();
      })();
      counts.push(open());
      for (let n = 0; n < 50 && open() > 0; n++) { gc(); await new Promise((done) => setTimeout(done, 10)); }
      counts.push(open());
      console.log(JSON.stringify(counts));`;
    const output = execFileSync(
      process.execPath,
      ['--expose-gc', '--input-type=module', '--eval', script, path],
      { encoding: 'utf8' },
    );
    expect(JSON.parse(output)).toEqual([0, 20, 0]);
  });
});

describe('the driver of this Node', () => {
  it('is loaded without a warning', () => {
    const script = `
      const { JitCache } = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
      const cache = await JitCache.open({ directory: ${JSON.stringify(temporaryDirectory())} });
      console.log((await cache.stats()).entries);
      await cache.close();`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual(['0\n', '']);
  });
});
