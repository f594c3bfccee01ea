import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { compilesIn, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

test('while four processes compile, anyone can have the write lock at once', async () => {
  const directory = temporaryDirectory();
  const counterFile = join(temporaryDirectory(), 'count');
  const warm = JitCache.open({ directory });
  await warm.get(fakeUnit('warm'), fakeToolchain());
  await warm.close();
  const children = Array.from({ length: 4 }, (_, n) =>
    startChild(
      { cache: { directory }, toolchain: { counterFile, delayMs: 1500 } },
      { kind: 'get', units: [fakeUnit(`slow ${n}`)] },
    ),
  );
  // All four are inside their compiles: no one waits for another.
  while (compilesIn(counterFile).length < 4) await sleep(10);
  const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: false });
  for (let n = 0; n < 20; n++) {
    // The timeout of this connection is 0: a held lock would throw.
    connection.exec('BEGIN IMMEDIATE');
    connection.exec('ROLLBACK');
    await sleep(30);
  }
  connection.close();
  const results = await Promise.all(children.map(({ result }) => result));
  // None could have begun after another had ended.
  for (const { gets } of results) expect(gets[0]?.ms).toBeLessThan(3000);
});

test('different keys compile in parallel in one process', async () => {
  const cache = JitCache.open({ directory: temporaryDirectory() });
  const toolchain = fakeToolchain({ delayMs: 200 });
  const started = performance.now();
  const units = Array.from({ length: 4 }, (_, n) => fakeUnit(`parallel ${n}`));
  const progress: number[] = [];
  const all = await cache.getAll(units, toolchain, {
    concurrency: 4,
    onProgress: ({ done, total }) => progress.push(done / total),
  });
  expect(performance.now() - started).toBeLessThan(300 * 1.5);
  expect(all.map(({ log }) => log)).toEqual(units.map(({ source }) => `compiled ${source}`));
  expect(progress).toEqual([0.25, 0.5, 0.75, 1]);
  await cache.close();
});
