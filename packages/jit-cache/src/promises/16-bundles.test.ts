import { readFileSync, writeFileSync, mkdirSync, copyFileSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleFolders, bundlePackages } from '../bundle/bundle-folders.js';
import { JitCache } from '../cache.js';
import { bundleKey, cacheKey, unitFields } from '../key.js';
import { fakeBinary, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import type { CacheOptions, CacheWarning, CompileUnit } from '../types.js';

const units: readonly CompileUnit[] = [
  fakeUnit('one'),
  fakeUnit('two'),
  fakeUnit('three', { target: 'x86-64-v4' }),
  fakeUnit('four', { target: 'sm_90a', language: 'cuda' }),
];
const PTX = fakeUnit('ptx', { target: 'compute_90', language: 'cuda' });
const [ONE, TWO, V4, CUDA] = units as [CompileUnit, CompileUnit, CompileUnit, CompileUnit];

/** A folder with bundles of all units, made by two compilers. */
async function bundlesOf(root: string): Promise<string> {
  const folder = join(root, 'bundles');
  await using cache = JitCache.open({ directory: join(root, 'store'), mode: 'rw' });
  for (const unit of units) await cache.get(unit, fakeToolchain());
  const ptx: Uint8Array = Buffer.from('.version 8.0\n\0');
  await cache.get(PTX, {
    ...fakeToolchain(),
    compile: async () => ({ binary: ptx, loweredNames: {}, log: '' }),
  });
  const found = await cache.exportBundles(folder);
  expect(found.map(({ target, kernels }) => [target, kernels])).toEqual([
    ['sm_90a', 1],
    ['x86-64-v3', 2],
    ['x86-64-v4', 1],
  ]);
  for (const { file, bytes } of found) expect(readFileSync(file).length).toBe(bytes);
  return folder;
}

interface Reading {
  readonly cache: JitCache;
  readonly warnings: CacheWarning[];
}

function reading(bundles: readonly string[], options: CacheOptions = {}): Reading {
  const warnings: CacheWarning[] = [];
  const onWarning = (warning: CacheWarning): void => void warnings.push(warning);
  return { cache: JitCache.open({ mode: 'off', bundles, onWarning, ...options }), warnings };
}

test('the same kernels make the same bytes, however long compilers took', async () => {
  const folders = [await bundlesOf(temporaryDirectory()), await bundlesOf(temporaryDirectory())];
  const [first, second] = folders.map((folder) =>
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'hex')]),
  );
  expect(first).toHaveLength(3);
  expect(second).toEqual(first);
});

test('a kernel of a bundle has the bytes and the names of the compile, without a compiler and without a store', async () => {
  const root = temporaryDirectory();
  const { cache, warnings } = reading([await bundlesOf(root)]);
  for (const unit of units) {
    expect(await cache.hasBundled(unit)).toBe(true);
    const found = await cache.bundled(unit);
    expect(found).toMatchObject({ origin: 'bundle', loweredNames: { entry: '_Zentry' } });
    expect(Buffer.from(found?.binary ?? []).equals(fakeBinary('fake 1.0', unit))).toBe(true);
    // A caller's copy: what is done with it does not reach the next hit.
    found?.binary.fill(0);
    const again = await cache.bundled(unit);
    expect(again?.origin).toBe('memory');
    expect(Buffer.from(again?.binary ?? []).equals(fakeBinary('fake 1.0', unit))).toBe(true);
  }
  const { counters } = await cache.stats();
  expect(counters).toMatchObject({ bundleHits: 4, memoryHits: 4, compiles: 0, bundleCorrupt: 0 });
  expect(warnings).toEqual([]);
});

test('what a bundle does not have is not found: another text, option, name, generator or target, and PTX', async () => {
  const root = temporaryDirectory();
  const folder = await bundlesOf(root);
  const { cache } = reading([folder]);
  const others: readonly CompileUnit[] = [
    fakeUnit('five'),
    { ...ONE, options: [] },
    { ...ONE, names: ['other'] },
    { ...ONE, language: 'cuda' },
    { ...ONE, target: 'x86-64-v4' },
    { ...CUDA, target: 'sm_90' },
    PTX,
  ];
  for (const unit of others) {
    expect(await cache.bundled(unit)).toBeUndefined();
    expect(await cache.hasBundled(unit)).toBe(false);
  }
  expect(await reading([folder], { generator: '2' }).cache.bundled(ONE)).toBeUndefined();
  expect(cache.hasBundleFor('sm_90a')).toBe(true);
  expect(cache.hasBundleFor('sm_80')).toBe(false);
  expect((await cache.stats()).counters).toMatchObject({ bundleHits: 0, bundleCorrupt: 0 });
});

test('the key of a bundle says nothing of the compiler, and everything else that the key of the store says', () => {
  const key = (unit: CompileUnit, identity: string): string =>
    bundleKey(cacheKey(unit, fakeToolchain({ identity })).fields);
  expect(key(ONE, 'g++ 12')).toBe(key(ONE, 'g++ 13'));
  expect(key(ONE, 'g++ 12')).toBe(bundleKey(unitFields(ONE)));
  const fields = unitFields(ONE);
  const keys = [
    fields,
    ...Object.entries(fields).map(([name, value]) => ({
      ...fields,
      [name]: Array.isArray(value) ? [...(value as string[]), 'x'] : `${String(value)}x`,
    })),
  ].map((one) => bundleKey(one));
  expect(new Set(keys).size).toBe(keys.length);
});

test('no changed byte of a file reaches a caller: the kernel is not used, and another kernel of the file may be', async () => {
  const root = temporaryDirectory();
  const folder = await bundlesOf(root);
  const whole = readFileSync(join(folder, 'x86-64-v3.kernels'));
  const damaged = join(root, 'damaged');
  mkdirSync(damaged);
  const listEnd = 52 + whole.readUInt32LE(16);
  let [refused, used] = [0, 0];
  for (let at = 0; at < whole.length; at += at < 1200 ? 7 : 97) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    writeFileSync(join(damaged, 'x86-64-v3.kernels'), bytes);
    const { cache, warnings } = reading([damaged]);
    const before = refused;
    for (const unit of [ONE, TWO]) {
      const found = await cache.bundled(unit);
      if (found === undefined) refused++;
      else {
        used++;
        // The other kernel, or a bit that the compressed form does not use.
        expect(Buffer.from(found.binary).equals(fakeBinary('fake 1.0', unit))).toBe(true);
      }
    }
    // A list of kernels is right as a whole, or none of it is used, which is said.
    if (at < listEnd) expect([at, refused - before, warnings.length]).toEqual([at, 2, 1]);
    for (const { code, message } of warnings) {
      expect(code).toBe('BUNDLE_DAMAGED');
      expect(message).toContain(join(damaged, 'x86-64-v3.kernels'));
    }
  }
  expect(refused).toBeGreaterThan(100);
  expect(used).toBeGreaterThan(20);
});

test('a file that is cut off, empty, a folder, another program’s or for another target is refused with one warning', async () => {
  const root = temporaryDirectory();
  const folder = await bundlesOf(root);
  const whole = readFileSync(join(folder, 'x86-64-v3.kernels'));
  const other = join(root, 'other');
  mkdirSync(other);
  const file = join(other, 'x86-64-v3.kernels');
  const cases: readonly [string, () => void, RegExp][] = [
    ['cut off', () => writeFileSync(file, whole.subarray(0, 300)), /cut off at 300 bytes/],
    ['empty', () => writeFileSync(file, ''), /cut off at 0 bytes/],
    ['foreign', () => writeFileSync(file, 'SQLite format 3\0'.repeat(9)), /does not begin like/],
    [
      'for another target',
      () => copyFileSync(join(folder, 'x86-64-v4.kernels'), file),
      /it holds kernels for x86-64-v4/,
    ],
  ];
  for (const [name, make, why] of cases) {
    make();
    const { cache, warnings } = reading([other]);
    expect(await cache.bundled(ONE), name).toBeUndefined();
    expect(await cache.bundled(TWO), name).toBeUndefined();
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(why)]);
    // The kernel is compiled all the same.
    expect((await cache.get(ONE, fakeToolchain())).origin).toBe('compiled');
  }
  mkdirSync(join(other, 'x86-64-v4.kernels'));
  const { cache, warnings } = reading([other]);
  expect(await cache.bundled(V4)).toBeUndefined();
  expect(warnings).toHaveLength(1);
});

test('a kernel whose form is not that of its target is refused, as one for another GPU under a wrong name', async () => {
  const root = temporaryDirectory();
  const bundles = join(root, 'bundles');
  await using writer = JitCache.open({ directory: join(root, 'store') });
  // Valid where nothing looks at the target, and no image for a GPU of this kind.
  const unit = fakeUnit('native', { target: 'native' });
  await writer.get(unit, fakeToolchain());
  await writer.exportBundles(bundles);
  const { bundleBytes, readIndex, readKernel } = await import('../bundle/bundle-file.js');
  const index = await readIndex(join(bundles, 'native.kernels'));
  const [key] = index.entries.keys();
  const entry = await readKernel(join(bundles, 'native.kernels'), index, key ?? '');
  if (entry === undefined) throw new Error('nothing was written');
  const wrong = bundleKey(unitFields(CUDA));
  writeFileSync(
    join(bundles, 'sm_90a.kernels'),
    bundleBytes('sm_90a', ['someone'], new Map([[wrong, entry]])),
  );
  const { cache, warnings } = reading([bundles]);
  expect(await cache.bundled(CUDA)).toBeUndefined();
  expect(warnings[0]?.message).toMatch(
    /a kernel in it is not for sm_90a: it is for ELF machine 62/,
  );
  expect((await cache.stats()).counters.bundleCorrupt).toBe(1);
});

test('folders are asked in their order, and what one has not another may have', async () => {
  const root = temporaryDirectory();
  const folder = await bundlesOf(root);
  const first = join(root, 'first');
  mkdirSync(first);
  writeFileSync(join(first, 'x86-64-v3.kernels'), 'nothing');
  const { cache, warnings } = reading([first, join(root, 'none'), folder]);
  expect((await cache.bundled(ONE))?.origin).toBe('bundle');
  expect(warnings).toHaveLength(1);
  expect(readdirSync(first)).toEqual(['x86-64-v3.kernels']);
});

test('which folders: the option, else MERCER_KERNELS, else the installed packages', () => {
  const packaged = (name: string): string | undefined =>
    name === '@mercer/kernels-cuda' ? '/modules/cuda' : undefined;
  expect(bundlePackages()[0]).toBe('@mercer/kernels-cuda');
  expect(bundlePackages()[1]).toMatch(/^@mercer\/kernels-\w+-\w+/);
  expect(bundleFolders(undefined, {}, packaged)).toEqual(['/modules/cuda']);
  expect(bundleFolders(undefined, {}, () => undefined)).toEqual([]);
  expect(bundleFolders(undefined, { MERCER_KERNELS: 'off' }, packaged)).toEqual([]);
  const two = { MERCER_KERNELS: ['/a', '/b'].join(delimiter) };
  expect(bundleFolders(undefined, two, packaged)).toEqual(['/a', '/b']);
  expect(bundleFolders(['/c'], two, packaged)).toEqual(['/c']);
});

test('a closed cache gives nothing out of a bundle', async () => {
  const root = temporaryDirectory();
  const { cache } = reading([await bundlesOf(root)]);
  await cache.close();
  await expect(cache.bundled(ONE)).rejects.toMatchObject({ code: 'CACHE_CLOSED' });
  await expect(cache.hasBundled(ONE)).rejects.toMatchObject({ code: 'CACHE_CLOSED' });
});

test('what is no folder is refused', async () => {
  for (const bundles of ['/a', [1], [''], [undefined], null, {}, ['/a\0b']]) {
    expect(() => JitCache.open({ bundles: bundles as never })).toThrow(
      /JitCache\.open: bundles is .*Pass a list of paths of folders/,
    );
  }
  const { cache } = reading([]);
  for (const folder of ['', undefined, 3]) {
    await expect(cache.exportBundles(folder as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  }
  expect(await cache.bundled(ONE)).toBeUndefined();
});
