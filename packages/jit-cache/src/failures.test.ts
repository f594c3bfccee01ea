import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JitCache } from './cache.js';
import { loadDriver } from './store/driver.js';
import { fakeToolchain, fakeUnit } from './testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from './testing/temporary-directory.test-support.js';
import type { Toolchain } from './types.js';

/** One that says what is wrong, in several lines. */
const failing = (says = 'line 3: no such function\nin line 3'): Toolchain => ({
  ...fakeToolchain(),
  compile: () => Promise.reject(new Error(says)),
});

const fails = async (cache: JitCache, source: string, says?: string): Promise<void> => {
  const unit = fakeUnit(source, { names: [`f_${source}`] });
  await expect(cache.get(unit, failing(says))).rejects.toThrow();
};

describe('a compile that failed', () => {
  it('is known to other processes: what, for what and why, in one line', async () => {
    const directory = temporaryDirectory();
    const cache = JitCache.open({ directory });
    await fails(cache, 'a');
    await fails(cache, 'b', 'x\0y'.padEnd(2000, '.'));
    await fails(cache, 'b', 'again');
    await cache.close();
    const other = JitCache.open({ directory, mode: 'ro' });
    const found = await other.failures();
    expect(found).toHaveLength(2);
    expect(found.find(({ names }) => names[0] === 'f_a')).toMatchObject({
      key: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      target: 'x86-64-v3',
      toolchain: 'fake 1.0',
      message: 'line 3: no such function',
    });
    expect(found.find(({ names }) => names[0] === 'f_b')?.message).toBe('again');
    expect(found[0]?.at.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect(await other.list()).toEqual([]);
    await other.close();
  });

  it('is forgotten once it succeeds, and with all else', async () => {
    const directory = temporaryDirectory();
    const cache = JitCache.open({ directory });
    await fails(cache, 'a');
    await fails(cache, 'b');
    await cache.get(fakeUnit('a', { names: ['f_a'] }), fakeToolchain());
    await cache.close();
    const later = JitCache.open({ directory });
    expect((await later.failures()).map(({ names }) => names)).toEqual([['f_b']]);
    await later.clear();
    expect(await later.failures()).toEqual([]);
    await later.close();
  });

  it('is one of 32 at most, the newest', async () => {
    const directory = temporaryDirectory();
    const cache = JitCache.open({ directory });
    for (let n = 0; n < 40; n++) {
      await fails(cache, `${n}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const names = (await cache.failures()).flatMap((one) => one.names);
    expect(names).toEqual(Array.from({ length: 32 }, (_, n) => `f_${39 - n}`));
    await cache.close();
  });

  it('is none where it was given up, and nowhere where there is no store', async () => {
    const cache = JitCache.open({ directory: temporaryDirectory() });
    const controller = new AbortController();
    const waits: Toolchain = {
      ...fakeToolchain(),
      compile: (_, { signal } = {}) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            reject(new Error('stopped'));
          });
        }),
    };
    const call = cache.get(fakeUnit('a'), waits, { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(new Error('given up'));
    await expect(call).rejects.toThrow('given up');
    await cache.stats();
    expect(await cache.failures()).toEqual([]);
    await cache.close();
    const off = JitCache.open({ mode: 'off' });
    await fails(off, 'a');
    expect(await off.failures()).toEqual([]);
    await off.close();
  });

  it('whose note has rotted is left out', async () => {
    const directory = temporaryDirectory();
    const cache = JitCache.open({ directory });
    await fails(cache, 'a');
    await fails(cache, 'b');
    await cache.close();
    const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: false });
    connection.exec("UPDATE meta SET value = '{' WHERE value LIKE '%f_a%'");
    connection.close();
    const later = JitCache.open({ directory });
    expect((await later.failures()).map(({ names }) => names)).toEqual([['f_b']]);
    await later.close();
  });
});
