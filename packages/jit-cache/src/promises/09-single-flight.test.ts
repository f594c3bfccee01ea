import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { compilesIn, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { runChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import type { Toolchain } from '../types.js';

const unit = fakeUnit('wanted often');

test.each(['off', 'ro', 'rw'] as const)('1000 calls at once: one compile (%s)', async (mode) => {
  const counterFile = join(temporaryDirectory(), 'count');
  const toolchain = fakeToolchain({ counterFile, delayMs: 30 });
  const options = { directory: temporaryDirectory(), mode, onWarning: () => undefined };
  const cache = JitCache.open(options);
  const got = await Promise.all(Array.from({ length: 1000 }, () => cache.get(unit, toolchain)));
  expect(compilesIn(counterFile)).toHaveLength(1);
  expect(new Set(got.map(({ key }) => key)).size).toBe(1);
  expect((await cache.stats()).counters).toMatchObject({ misses: 1, waited: 0 });
  await cache.close();
});

test('1000 calls in eight worker threads: one compile', async () => {
  const counterFile = join(temporaryDirectory(), 'count');
  const settings = {
    cache: { directory: temporaryDirectory() },
    toolchain: { counterFile, delayMs: 100 },
  };
  const { gets } = await runChild(settings, { kind: 'workers', unit, workers: 8, calls: 125 });
  expect(gets).toHaveLength(1000);
  expect(compilesIn(counterFile)).toHaveLength(1);
  expect(new Set(gets.map(({ sha }) => sha)).size).toBe(1);
});

test.each(['off', 'rw'] as const)(
  'a failure rejects all who wait, and is not kept (%s)',
  async (mode) => {
    const counterFile = join(temporaryDirectory(), 'count');
    const cache = JitCache.open({ directory: temporaryDirectory(), mode });
    const failing = fakeToolchain({ counterFile, delayMs: 10, fails: true });
    const calls = Array.from({ length: 20 }, () => cache.get(unit, failing));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(Array(20).fill('rejected'));
    await expect(cache.get(unit, failing)).rejects.toThrow('the fake compiler failed');
    expect(compilesIn(counterFile)).toHaveLength(2);
    expect(await cache.list()).toEqual([]);
    // The lease was given back: the next call compiles at once.
    const started = performance.now();
    expect((await cache.get(unit, fakeToolchain({ counterFile }))).origin).toBe('compiled');
    expect(performance.now() - started).toBeLessThan(1000);
    await cache.close();
  },
);

test('an aborted call rejects; the compile goes on and is kept', async () => {
  const counterFile = join(temporaryDirectory(), 'count');
  const toolchain = fakeToolchain({ counterFile, delayMs: 50 });
  const cache = JitCache.open({ directory: temporaryDirectory() });
  const controller = new AbortController();
  const aborted = cache.get(unit, toolchain, { signal: controller.signal });
  const patient = cache.get(unit, toolchain);
  controller.abort(new Error('no longer wanted'));
  await expect(aborted).rejects.toThrow('no longer wanted');
  expect((await patient).origin).toBe('compiled');
  await expect(cache.get(unit, toolchain, { signal: controller.signal })).rejects.toThrow();
  expect(compilesIn(counterFile)).toHaveLength(1);
  await cache.close();
});

test('a compile that no call waits for any more is stopped, and the next call compiles anew', async () => {
  const cache = JitCache.open({ directory: temporaryDirectory() });
  const counterFile = join(temporaryDirectory(), 'count');
  const real = fakeToolchain({ counterFile });
  const stopped: unknown[] = [];
  const hanging: Toolchain = {
    ...real,
    compile: (_, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          stopped.push(signal.reason);
          reject(signal.reason as Error);
        });
      }),
  };
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [first, second].map(({ signal }) => cache.get(unit, hanging, { signal }));
  const outcomes = Promise.allSettled(calls);
  // the compiler has been started
  await new Promise((resolve) => setTimeout(resolve, 100));
  first.abort(new Error('first left'));
  expect(stopped).toEqual([]);
  second.abort(new Error('second left'));
  expect((await outcomes).map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
    'Error: first left',
    'Error: second left',
  ]);
  expect(stopped.map(String)).toEqual(['Error: second left']);
  expect((await cache.get(unit, real)).origin).toBe('compiled');
  await cache.close();
});
