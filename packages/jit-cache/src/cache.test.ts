import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { JitCache } from './cache.js';
import { loadDriver } from './store/driver.js';
import { fakeToolchain, fakeUnit } from './testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from './testing/temporary-directory.test-support.js';
import { testSystem } from './testing/test-system.test-support.js';

test('opening touches nothing; the first call makes the folder', async () => {
  const directory = join(temporaryDirectory(), 'later');
  const cache = JitCache.open({ directory });
  expect(() => loadDriver().open(directory, { readOnly: true })).toThrow();
  await cache.get(fakeUnit('a'), fakeToolchain());
  expect((await cache.stats()).path).toBe(join(directory, 'kernels-v1.sqlite'));
  await cache.close();
});

test('verify deletes what has rotted, and says how much', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory });
  for (const name of ['a', 'b', 'c']) await cache.get(fakeUnit(name), fakeToolchain());
  const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: false });
  connection.exec("UPDATE entry SET log = 'rotten' WHERE log = 'compiled b'");
  connection.close();
  expect(await cache.verify()).toEqual({ checked: 3, corrupt: 1 });
  expect(await cache.verify()).toEqual({ checked: 2, corrupt: 0 });
  expect(await cache.list()).toHaveLength(2);
  await cache.close();
});

test('list, stats, prune and clear', async () => {
  const cache = JitCache.open({ directory: temporaryDirectory(), maxBytes: 2 ** 22 });
  for (const name of ['a', 'b']) await cache.get(fakeUnit(name), fakeToolchain({ bytes: 5000 }));
  const [entry] = await cache.list();
  expect(entry).toMatchObject({
    target: 'x86-64-v3',
    toolchain: 'fake 1.0',
    names: ['entry'],
    bytes: 5000,
  });
  expect(entry?.created.getTime()).toBeGreaterThan(Date.now() - 60_000);
  const stats = await cache.stats();
  expect(stats).toMatchObject({ state: 'disk', entries: 2, maxBytes: 2 ** 22 });
  expect(stats.usedBytes).toBeLessThanOrEqual(stats.fileBytes);
  expect(await cache.prune()).toBe(0);
  expect(await cache.clear()).toBe(2);
  expect(await cache.list()).toEqual([]);
  // Nothing is left in memory either.
  expect((await cache.get(fakeUnit('a'), fakeToolchain())).origin).toBe('compiled');
  await cache.close();
});

test('mode ro reads and never writes; off does neither', async () => {
  const directory = temporaryDirectory();
  const fill = JitCache.open({ directory });
  await fill.get(fakeUnit('stored'), fakeToolchain());
  await fill.close();
  const readOnly = JitCache.open({ directory, mode: 'ro' });
  expect((await readOnly.get(fakeUnit('stored'), fakeToolchain())).origin).toBe('store');
  expect((await readOnly.get(fakeUnit('new'), fakeToolchain())).origin).toBe('compiled');
  expect(await readOnly.list()).toHaveLength(1);
  expect(await readOnly.clear()).toBe(0);
  await readOnly.close();
  const env = { MERCER_CACHE: 'off' };
  const off = new JitCache({ directory }, testSystem({ env }));
  expect((await off.get(fakeUnit('stored'), fakeToolchain())).origin).toBe('compiled');
  expect((await off.stats()).state).toBe('off');
  await off.close();
  const missing = join(directory, 'missing');
  const none = JitCache.open({ directory: missing, mode: 'ro', onWarning: () => undefined });
  expect((await none.get(fakeUnit('stored'), fakeToolchain())).origin).toBe('compiled');
  expect(() => loadDriver().open(missing, { readOnly: true })).toThrow();
  await none.close();
});

test('the folder: option, MERCER_CACHE_DIR, XDG_CACHE_HOME, HOME', async () => {
  const base = temporaryDirectory();
  const pathWith = async (env: Record<string, string>, directory?: string): Promise<unknown> => {
    const cache = new JitCache({ ...(directory && { directory }) }, testSystem({ env }));
    const { path } = await cache.stats();
    await cache.close();
    return path?.slice(base.length).replace('/kernels-v1.sqlite', '');
  };
  const env = { HOME: base };
  expect(await pathWith(env)).toBe('/.cache/mercer');
  const shared = { ...env, XDG_CACHE_HOME: join(base, 'xdg') };
  expect(await pathWith(shared)).toBe('/xdg/mercer');
  const own = { ...shared, MERCER_CACHE_DIR: join(base, 'own') };
  expect(await pathWith(own)).toBe('/own');
  expect(await pathWith(own, join(base, 'given'))).toBe('/given');
  expect(await pathWith({ ...env, XDG_CACHE_HOME: 'relative' })).toBe('/.cache/mercer');
});

test('debug prints hits, misses with their reason, and compile times', async () => {
  const directory = temporaryDirectory();
  const lines: string[] = [];
  const debug = (line: string): number => lines.push(line);
  const unit = fakeUnit('text');
  const first = JitCache.open({ directory, debug });
  await first.get(unit, fakeToolchain());
  await first.get(unit, fakeToolchain());
  await first.get({ ...unit, options: [{ name: 'fmad', value: false }] }, fakeToolchain());
  await first.get({ ...unit, target: 'x86-64-v4' }, fakeToolchain());
  await first.get(unit, fakeToolchain({ identity: 'fake 1.1' }));
  await first.get(fakeUnit('other text'), fakeToolchain());
  await first.close();
  const second = JitCache.open({ directory, debug });
  await second.get(unit, fakeToolchain());
  await second.close();
  const shape = lines.map((line) => line.replace(/ [0-9a-f]{12}\b/, '').replace(/[\d.]+ ms/, 'T'));
  expect(shape).toEqual([
    'miss entry x86-64-v3: the store is empty',
    'compiled entry x86-64-v3 with fake in T, 4096 bytes',
    'hit entry x86-64-v3 from memory',
    'miss entry x86-64-v3: the nearest entry differs: options is [fmad=boolean:false], there [fmad=boolean:true]',
    'compiled entry x86-64-v3 with fake in T, 4096 bytes',
    'miss entry x86-64-v4: the nearest entry differs: target is x86-64-v4, there x86-64-v3',
    'compiled entry x86-64-v4 with fake in T, 4096 bytes',
    'miss entry x86-64-v3: the nearest entry differs: toolchain is fake 1.1, there fake 1.0',
    'compiled entry x86-64-v3 with fake in T, 4096 bytes',
    expect.stringMatching(/^miss entry x86-64-v3: the nearest entry differs: source differs/),
    'compiled entry x86-64-v3 with fake in T, 4096 bytes',
    'hit entry x86-64-v3 from the store in T',
  ]);
});

test('MERCER_DEBUG=jit prints to stderr, also among others', async () => {
  const written: string[] = [];
  const spy = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  const env = { MERCER_DEBUG: 'other,jit' };
  const cache = new JitCache({ mode: 'off' }, testSystem({ env }));
  await cache.get(fakeUnit('a'), fakeToolchain());
  await cache.get(fakeUnit('b'), fakeToolchain(), { debug: false });
  spy.mockRestore();
  await cache.close();
  expect(written).toHaveLength(2);
  expect(written[0]).toMatch(
    /^mercer jit: miss entry x86-64-v3 [0-9a-f]{12}: there is no store\n$/,
  );
});

test('tuning records: kept, found by others, checked, replaced', async () => {
  const directory = temporaryDirectory();
  const plan = { tile: [8, 8], stages: 3 };
  const first = JitCache.open({ directory });
  expect(await first.tuning.get('norm f32 k<=64', 'H200')).toBeUndefined();
  await first.tuning.set('norm f32 k<=64', 'H200', { tile: [4, 4] });
  await first.tuning.set('norm f32 k<=64', 'H200', plan);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const bad of [undefined, () => 1, { tile: 4n }, circle]) {
    const error: unknown = await first.tuning.set('p', 'd', bad).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'CacheError', code: 'INVALID_ARGUMENT' });
    expect(String(error)).toMatch(/: JSON cannot carry .*Give a plain value\.$/);
  }
  expect(await first.tuning.get('p', 'd')).toBeUndefined();
  await first.close();
  const second = JitCache.open({ directory });
  expect(await second.tuning.get('norm f32 k<=64', 'H200')).toEqual(plan);
  expect(await second.tuning.get('norm f32 k<=64', 'A100')).toBeUndefined();
  await second.close();
  const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), { readOnly: false });
  connection.exec(`UPDATE tuning SET plan = '{"tile":[9,9]}'`);
  connection.close();
  const third = JitCache.open({ directory });
  expect(await third.tuning.get('norm f32 k<=64', 'H200')).toBeUndefined();
  await third.close();
});

test('a batch tries every unit, reports progress, and throws all failures', async () => {
  const cache = JitCache.open({ directory: temporaryDirectory() });
  const compile = fakeToolchain().compile;
  const toolchain = {
    ...fakeToolchain(),
    compile: async (unit: Parameters<typeof compile>[0]) => {
      if (unit.source.startsWith('bad')) throw new Error(`no ${unit.source}`);
      return compile(unit);
    },
  };
  const units = ['good 1', 'bad 1', 'good 2', 'bad 2', 'good 3'].map((source) => fakeUnit(source));
  const seen: number[] = [];
  const onProgress = ({ done, total }: { done: number; total: number }): number =>
    seen.push(done / total);
  const batch = cache.getAll(units, toolchain, { onProgress, concurrency: 2 });
  await expect(batch).rejects.toMatchObject({
    code: 'BATCH_FAILED',
    errors: { length: 2 },
    message:
      '2 of 5 units could not be compiled; .errors has the error of each. The first: no bad 1',
  });
  expect(seen).toEqual([0.2, 0.4, 0.6, 0.8, 1]);
  expect(await cache.list()).toHaveLength(3);
  const single = cache.getAll(units.slice(0, 2), toolchain);
  await expect(single).rejects.toThrow('no bad 1');
  expect(await cache.getAll([], toolchain)).toEqual([]);
  const aborted = cache.getAll(units, toolchain, { signal: AbortSignal.abort(new Error('stop')) });
  await expect(aborted).rejects.toThrow('stop');
  await cache.close();
});

test.each([
  [{ source: '' }, 'source is empty'],
  [{ target: '../etc' }, 'is not a name'],
  [{ target: '' }, 'is not a name'],
  [{ names: [] }, 'names no entry'],
  [{ options: [{ name: 'maxrregcount', value: NaN }] }, 'option maxrregcount is NaN'],
])('a wrong unit is refused: %j', async (change, message) => {
  const cache = JitCache.open({ mode: 'off' });
  const call = cache.get(fakeUnit('a', change), fakeToolchain());
  await expect(call).rejects.toMatchObject({ code: 'INVALID_UNIT' });
  await expect(call).rejects.toThrow(message);
  await cache.close();
});

test('a closed cache refuses, and closing waits for what is under way', async () => {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory });
  const late = cache.get(fakeUnit('late'), fakeToolchain({ delayMs: 50 }));
  await cache.close();
  expect((await late).origin).toBe('compiled');
  await expect(cache.get(fakeUnit('a'), fakeToolchain())).rejects.toMatchObject({
    code: 'CACHE_CLOSED',
  });
  const again = JitCache.open({ directory });
  expect((await again.get(fakeUnit('late'), fakeToolchain())).origin).toBe('store');
  await again.close();
});

test('a wrong MERCER_CACHE is told and not followed', async () => {
  const codes: string[] = [];
  const onWarning = ({ code }: { code: string }): number => codes.push(code);
  const env = { MERCER_CACHE: 'readonly' };
  const cache = new JitCache({ directory: temporaryDirectory(), onWarning }, testSystem({ env }));
  expect((await cache.stats()).state).toBe('disk');
  await cache.close();
  expect(codes).toEqual(['INVALID_SETTING']);
});
