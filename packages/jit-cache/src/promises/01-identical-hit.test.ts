import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import {
  compilesIn,
  fakeBinary,
  fakeToolchain,
  fakeUnit,
} from '../testing/fake-toolchain.test-support.js';
import { runChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

test('a hit in another process has the bytes, names and log of the compile', async () => {
  const directory = temporaryDirectory();
  const units = [fakeUnit('one'), fakeUnit('two', { names: ['a<float>', 'b'] })];
  const settings = {
    cache: { directory },
    toolchain: { counterFile: join(temporaryDirectory(), 'count'), bytes: 70_001 },
  };
  const cold = await runChild(settings, { kind: 'get', units });
  const warm = await runChild(settings, { kind: 'get', units });
  expect(cold.gets.map(({ origin }) => origin)).toEqual(['compiled', 'compiled']);
  expect(warm.gets.map(({ origin }) => origin)).toEqual(['store', 'store']);
  const expected = units.map((unit) =>
    createHash('sha256')
      .update(fakeBinary('fake 1.0', unit, 70_001))
      .digest('hex'),
  );
  expect(cold.gets.map(({ sha }) => sha)).toEqual(expected);
  expect(warm.gets.map(({ sha }) => sha)).toEqual(expected);
  expect(warm.gets[1]?.loweredNames).toEqual({ 'a<float>': '_Za<float>', b: '_Zb' });
  expect(warm.gets[0]?.log).toBe('compiled one');
  expect(compilesIn(settings.toolchain.counterFile)).toHaveLength(2);
});

test.each(['rw', 'off'] as const)(
  'what a caller does to its bytes reaches nobody (%s)',
  async (mode) => {
    const directory = temporaryDirectory();
    const unit = fakeUnit('mine');
    const expected = fakeBinary('fake 1.0', unit);
    const cache = JitCache.open({ directory, mode });
    const first = await cache.get(unit, fakeToolchain());
    first.binary.fill(0);
    const second = await cache.get(unit, fakeToolchain());
    expect(second.origin).toBe('memory');
    expect(Buffer.compare(second.binary, expected)).toBe(0);
    second.binary.fill(0);
    const third = await cache.get(unit, fakeToolchain());
    expect(Buffer.compare(third.binary, expected)).toBe(0);
    await cache.close();
  },
);

test('a compiler that goes on writing into its buffer does not change the entry', async () => {
  const directory = temporaryDirectory();
  const unit = fakeUnit('reused buffer');
  const expected = fakeBinary('fake 1.0', unit);
  const buffer = expected.slice();
  const cache = JitCache.open({ directory });
  const toolchain = {
    ...fakeToolchain(),
    compile: async () => ({ binary: buffer, loweredNames: {}, log: '' }),
  };
  await cache.get(unit, toolchain);
  buffer.fill(0, 64);
  const again = await cache.get(unit, toolchain);
  expect(Buffer.compare(again.binary, expected)).toBe(0);
  await cache.close();
});

test('a compiler that prints a NUL: its kernel is found all the same', async () => {
  const directory = temporaryDirectory();
  for (const origin of ['compiled', 'store']) {
    const cache = JitCache.open({ directory });
    // The fake compiler prints the source.
    const found = await cache.get(fakeUnit('before\0after'), fakeToolchain());
    expect(found.origin).toBe(origin);
    expect(found.log).toMatch(/^compiled before.after$/s);
    await cache.close();
  }
});
