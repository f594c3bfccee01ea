import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { compilesIn, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { rotSweep } from '../testing/rot-sweep.test-support.js';
import { runChild, startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { driverNames } from '../testing/test-system.test-support.js';

/** The whole measure on request (`pnpm test:full`), a short one in CI. */
const full = process.env['MERCER_TEST_FULL'] === '1';
const timeout = full ? 900_000 : 60_000;

test(
  `killed at ${full ? '200' : '6'} random instants: no entry is lost or bad`,
  { timeout },
  async () => {
    const directory = temporaryDirectory();
    const old = Array.from({ length: 6 }, (_, n) => fakeUnit(`old ${n}`));
    const fill = JitCache.open({ directory });
    for (const unit of old) await fill.get(unit, fakeToolchain());
    await fill.close();
    for (let round = 0; round < (full ? 50 : 2); round++) {
      const children = Array.from({ length: full ? 4 : 3 }, () =>
        startChild({ cache: { directory } }, { kind: 'storm', durationMs: 60_000, keys: 10 }),
      );
      await sleep(150 + Math.random() * 400);
      for (const child of children) child.process.kill('SIGKILL');
      await Promise.all(children.map(({ end }) => end));
      const cache = JitCache.open({ directory });
      expect((await cache.verify()).corrupt).toBe(0);
      for (const unit of old) expect((await cache.get(unit, fakeToolchain())).origin).toBe('store');
      expect((await cache.stats()).counters.setAside).toBe(0);
      await cache.close();
    }
  },
);

test(
  `${full ? '16 processes for 30 s' : '4 processes for 1 s'}: no torn read`,
  { timeout },
  async () => {
    const settings = { cache: { directory: temporaryDirectory(), maxBytes: 2 ** 21 } };
    const job = { kind: 'storm', durationMs: full ? 30_000 : 1000, keys: 60 } as const;
    const children = Array.from({ length: full ? 16 : 4 }, () => startChild(settings, job));
    const results = await Promise.all(children.map(({ result }) => result));
    expect(results.flatMap(({ bad }) => bad)).toEqual([]);
  },
);

test(`${full ? '32' : '6'} processes that need ten keys: ten compiles`, { timeout }, async () => {
  const counterFile = join(temporaryDirectory(), 'count');
  const settings = {
    cache: { directory: temporaryDirectory() },
    toolchain: { counterFile, delayMs: 40 },
    waits: true,
  };
  const units = Array.from({ length: 10 }, (_, n) => fakeUnit(`shared ${n}`));
  const children = Array.from({ length: full ? 32 : 6 }, () =>
    startChild(settings, { kind: 'get', units }),
  );
  await Promise.all(children.map((child) => child.line('ready')));
  for (const child of children) child.begin();
  await Promise.all(children.map(({ result }) => result));
  expect(compilesIn(counterFile)).toHaveLength(10);
});

test(`one bit flipped at ${full ? '4000' : '200'} places`, { timeout }, async () => {
  const directory = temporaryDirectory();
  const unit = fakeUnit('rotting');
  const cache = JitCache.open({ directory });
  await cache.get(unit, fakeToolchain({ bytes: 20_000 }));
  await cache.close();
  const file = join(directory, 'kernels-v1.sqlite');
  const { wrong } = await rotSweep(file, unit, full ? 4000 : 200, () => {
    const folder = temporaryDirectory();
    copyFileSync(file, join(folder, 'kernels-v1.sqlite'));
    return folder;
  });
  expect(wrong).toEqual([]);
});

test(
  `two versions alternate for ${full ? '200' : '3'} rounds without a rebuild`,
  { timeout },
  async () => {
    const directory = temporaryDirectory();
    const counterFile = join(temporaryDirectory(), 'count');
    const units = [fakeUnit('a'), fakeUnit('b')];
    for (let round = 0; round < (full ? 200 : 3); round++) {
      for (const generator of ['1', '2']) {
        const settings = { cache: { directory, generator }, toolchain: { counterFile } };
        await runChild(settings, { kind: 'get', units });
      }
    }
    expect(compilesIn(counterFile)).toHaveLength(4);
  },
);

describe.each(driverNames())('%s', (driver) => {
  test(
    `${full ? '1000' : '100'} worker threads ended in the midst of it: no abort, no open file, nothing lost`,
    { timeout: 900_000 },
    async () => {
      const settings = { cache: { directory: temporaryDirectory(), maxBytes: 2 ** 24 } };
      const { bad, openFiles } = await runChild(settings, {
        kind: 'terminate',
        workers: full ? 1000 : 100,
        driver,
      });
      expect(bad).toEqual([]);
      expect(openFiles).toEqual([]);
    },
  );
});
