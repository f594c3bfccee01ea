import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import type { System } from '../store/system.js';
import { fakeBinary, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { spiedDriver, sqliteError, testSystem } from '../testing/test-system.test-support.js';
import type { CacheStats, CacheWarning } from '../types.js';

const unit = fakeUnit('anywhere');

interface Outcome {
  readonly stats: CacheStats;
  readonly warnings: CacheWarning[];
  readonly usual: string;
  readonly local: string;
}

/** Opens the cache in a folder where something is wrong; the local one is another. */
async function tryIn(make: (usual: string, local: string) => Partial<System>): Promise<Outcome> {
  const usual = join(temporaryDirectory(), 'usual');
  const local = temporaryDirectory();
  const warnings: CacheWarning[] = [];
  const onWarning = (warning: CacheWarning): number => warnings.push(warning);
  const overrides = { temporaryDirectory: local, ...make(usual, local) };
  const cache = new JitCache({ directory: usual, onWarning }, testSystem(overrides));
  const { binary } = await cache.get(unit, fakeToolchain());
  expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
  const stats = await cache.stats();
  await cache.close();
  return { stats, warnings, usual, local };
}

function assertMoved({ stats, warnings, usual, local }: Outcome, code: string): void {
  const [folder = ''] = readdirSync(local);
  expect(stats.state).toBe('disk');
  expect(stats.path).toBe(join(local, folder, 'kernels-v1.sqlite'));
  expect(warnings.map((warning) => warning.code)).toEqual([code]);
  // Says what, why and where.
  expect(warnings[0]?.message).toContain(usual);
  expect(warnings[0]?.message).toContain(join(local, folder));
  expect(existsSync(join(usual, 'kernels-v1.sqlite'))).toBe(false);
}

test.each([
  ['NFS', 0x6969],
  ['Lustre', 0x0bd00bd0],
  ['CIFS', 0xff534d42],
  ['CIFS, from a signed statfs', 0xff534d42 | 0],
  ['9p', 0x01021997],
  ['FUSE', 0x65735546],
  ['GPFS', 0x47504653],
])('a folder on %s is avoided', async (_, type) => {
  const outcome = await tryIn((usual) => ({
    fileSystemType: (path) => (path === usual ? type : 0xef53),
  }));
  assertMoved(outcome, 'NETWORK_FILE_SYSTEM');
  expect(readdirSync(outcome.usual)).toEqual([]);
});

test.each([
  [522 + 256 * 18, 'SQLITE_IOERR_SHMOPEN'],
  [15, 'SQLITE_PROTOCOL'],
  [14, 'SQLITE_CANTOPEN'],
  [10, 'SQLITE_IOERR'],
])(
  'a file system that fails the first write to the log (%i, %s) is avoided',
  async (errcode, name) => {
    const outcome = await tryIn((usual) => {
      let isLogging = false;
      const driver = spiedDriver((sql, location) => {
        if (!location.startsWith(usual)) return;
        if (sql === 'PRAGMA journal_mode = WAL') isLogging = true;
        else if (isLogging && sql.startsWith('INSERT')) throw sqliteError(errcode, name);
      });
      return { driver: () => driver };
    });
    assertMoved(outcome, 'NO_WAL');
    expect(outcome.warnings[0]?.message).toContain(name);
  },
);

test('a file system that answers wal and keeps no log is avoided', async () => {
  const outcome = await tryIn((usual) => {
    const real = spiedDriver(() => undefined);
    const driver = {
      name: 'without a log',
      open: (location: string, options: { readOnly: boolean }) => {
        const connection = real.open(location, options);
        const { exec } = connection;
        connection.exec = (sql) => {
          const isSwitch = sql === 'PRAGMA journal_mode = WAL' && location.startsWith(usual);
          exec(isSwitch ? 'PRAGMA journal_mode = DELETE' : sql);
        };
        return connection;
      },
    };
    return { driver: () => driver };
  });
  assertMoved(outcome, 'NO_WAL');
});

test('with every folder on a network the cache is in memory, with one warning', async () => {
  const { stats, warnings } = await tryIn(() => ({ fileSystemType: () => 0x6969 }));
  expect(stats.state).toBe('memory');
  expect(warnings.map(({ code }) => code)).toEqual(['NETWORK_FILE_SYSTEM']);
});
