import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeBinary, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

const old = Array.from({ length: 4 }, (_, n) => fakeUnit(`old ${n}`));
const fresh = [fakeUnit('fresh 1'), fakeUnit('fresh 2')];

async function fill(directory: string): Promise<void> {
  const cache = JitCache.open({ directory });
  for (const unit of old) await cache.get(unit, fakeToolchain());
  await cache.close();
}

/** What must hold after a kill: everything from before is there, and the store works. */
async function assertSound(directory: string, kept: typeof old): Promise<void> {
  const warnings: string[] = [];
  const cache = JitCache.open({ directory, onWarning: ({ message }) => warnings.push(message) });
  for (const unit of kept) {
    const { origin, binary } = await cache.get(unit, fakeToolchain());
    expect(origin).toBe('store');
    expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
  }
  for (const unit of fresh) {
    const { binary } = await cache.get(unit, fakeToolchain());
    expect(Buffer.compare(binary, fakeBinary('fake 1.0', unit))).toBe(0);
  }
  expect(await cache.verify()).toEqual({ checked: kept.length + fresh.length, corrupt: 0 });
  const { state, counters, path } = await cache.stats();
  expect({ state, setAside: counters.setAside }).toEqual({ state: 'disk', setAside: 0 });
  await cache.close();
  expect(warnings).toEqual([]);
  const connection = loadDriver().open(path ?? '', { readOnly: true });
  expect(connection.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  connection.close();
  expect(readdirSync(directory).filter((name) => /broken|new-/.test(name))).toEqual([]);
}

/** Every statement on request (`pnpm test:full`); in CI every fourth, beginning at one of the first four. */
const stride = process.env['MERCER_TEST_FULL'] === '1' ? 1 : 4;

/** Kills one child before each statement it would execute, until one lives to its end. */
async function killAtEvery(prepare: () => Promise<string>, kept: typeof old): Promise<number> {
  let killed = 0;
  const first = 1 + Math.floor(Math.random() * stride);
  for (let statement = first; ; statement += 2 * stride) {
    const attempts = await Promise.all(
      [statement, statement + stride].map(async (at) => {
        const directory = await prepare();
        const child = startChild(
          { cache: { directory } },
          { kind: 'die-at', units: fresh, statement: at },
        );
        return { how: await child.end, directory };
      }),
    );
    for (const { how, directory } of attempts) {
      expect(['SIGKILL', 0]).toContain(how);
      if (how === 'SIGKILL') killed++;
      await assertSound(directory, kept);
    }
    if (attempts.some(({ how }) => how === 0)) return killed;
  }
}

test('killed before any statement of using a store: nothing but the entry in flight is lost', async () => {
  const filled = temporaryDirectory();
  await fill(filled);
  const prepare = async (): Promise<string> => {
    const directory = temporaryDirectory();
    cpSync(filled, directory, { recursive: true });
    return directory;
  };
  expect(await killAtEvery(prepare, old)).toBeGreaterThan(25 / stride);
});

test('killed before any statement of making the store: the next process makes it', async () => {
  const killed = await killAtEvery(async () => temporaryDirectory(), []);
  expect(killed).toBeGreaterThan(35 / stride);
});

test('killed at ten random instants while writing', async () => {
  const directory = join(temporaryDirectory(), 'cache');
  await fill(directory);
  for (let round = 0; round < 5; round++) {
    const children = Array.from({ length: 2 }, () =>
      startChild({ cache: { directory } }, { kind: 'storm', durationMs: 5000, keys: 6 }),
    );
    await sleep(120 + Math.random() * 150);
    for (const child of children) child.process.kill('SIGKILL');
    expect(await Promise.all(children.map(({ end }) => end))).toEqual(['SIGKILL', 'SIGKILL']);
    const cache = JitCache.open({ directory });
    expect((await cache.verify()).corrupt).toBe(0);
    for (const unit of old) expect((await cache.get(unit, fakeToolchain())).origin).toBe('store');
    expect((await cache.stats()).counters.setAside).toBe(0);
    await cache.close();
  }
});
