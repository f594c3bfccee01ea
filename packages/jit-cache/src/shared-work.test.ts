import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { JitCache } from './cache.js';
import { SharedWork, type Behind } from './shared-work.js';
import { fakeToolchain, fakeUnit } from './testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from './testing/temporary-directory.test-support.js';

/** Work that ends with its signal, and what it was told. */
function startedWork(behind?: Behind): { work: SharedWork<never>; told: () => Behind | undefined } {
  let told: Behind | undefined;
  const work = new SharedWork<never>((signal, isBehind) => {
    told = isBehind;
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
  });
  work.join(undefined, behind).catch(() => undefined);
  return { work, told: () => told };
}

test('work is behind while all who wait for it say so', async () => {
  const { work, told } = startedWork(() => true);
  await Promise.resolve();
  expect(told()?.()).toBe(true);
  const controller = new AbortController();
  const joined = work.join(controller.signal);
  expect(told()?.()).toBe(false);
  controller.abort(new Error('enough'));
  await expect(joined).rejects.toThrow('enough');
  expect(told()?.()).toBe(true);
  let waits = false;
  work.join(undefined, () => !waits).catch(() => undefined);
  expect(told()?.()).toBe(true);
  waits = true;
  expect(told()?.()).toBe(false);
  work.abandon(new Error('over'));
  await expect(work.result).rejects.toThrow('over');
  expect(work.state).toBe('failed');
});

test('work that a caller waits for from the beginning is told of none', async () => {
  const { work, told } = startedWork();
  await Promise.resolve();
  work.join(undefined, () => true).catch(() => undefined);
  expect(told()).toBe(undefined);
  expect(work.isBehind).toBe(false);
});

test('who waits for work that is done behind keeps the process alive meanwhile, and nobody else does', async () => {
  const program = (join: string): string => `
    import { SharedWork } from ${JSON.stringify(import.meta.resolve('@mercer/jit-cache'))};
    const work = new SharedWork(() => new Promise((resolve) => setTimeout(resolve, 200, 'done').unref()));
    work.join(undefined, () => true);
    await new Promise((resolve) => setTimeout(resolve, 20));
    ${join};
    process.on('exit', () => console.log('end'));`;
  const run = async (join: string): Promise<string> => {
    const args = ['--input-type=module', '-e', program(join)];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  expect(await run('work.join(undefined, () => true).then(console.log)')).toBe('end\n');
  expect(await run('work.join().then(console.log)')).toBe('done\nend\n');
});

test('a cache says what it has without compiling or counting', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory });
  const [unit, toolchain] = [fakeUnit('a'), fakeToolchain()];
  expect(await cache.has(unit, toolchain)).toBe(false);
  await cache.get(unit, toolchain);
  expect(await cache.has(unit, toolchain)).toBe(true);
  expect(await cache.has(fakeUnit('b'), toolchain)).toBe(false);
  await cache.close();
  await expect(cache.has(unit, toolchain)).rejects.toMatchObject({ code: 'CACHE_CLOSED' });
  const again = JitCache.open({ directory });
  expect(await again.has(unit, toolchain)).toBe(true);
  expect((await again.stats()).counters).toMatchObject({ misses: 0, storeHits: 0, compiles: 0 });
  await again.close();
});

test('a cache that is closed ends compiles behind, and waits for those that calls wait for', async () => {
  const cache = JitCache.open({ mode: 'off' });
  const endless = {
    ...fakeToolchain(),
    compile: (_: unknown, limits?: { readonly signal?: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => {
        limits?.signal?.addEventListener('abort', () => {
          reject(limits.signal?.reason as Error);
        });
      }),
  };
  const behind = cache.get(fakeUnit('behind'), endless, { behind: () => true });
  const waited = cache.get(fakeUnit('waited for'), fakeToolchain({ delayMs: 50 }));
  const ended = expect(behind).rejects.toMatchObject({ code: 'CACHE_CLOSED' });
  await cache.close();
  await ended;
  expect((await waited).origin).toBe('compiled');
});
