import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeBinary, fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { rotSweep } from '../testing/rot-sweep.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

const unit = fakeUnit('rotting');

async function makeFile(): Promise<string> {
  const directory = temporaryDirectory();
  const cache = JitCache.open({ directory });
  await cache.get(unit, fakeToolchain({ bytes: 20_000 }));
  await cache.close();
  return join(directory, 'kernels-v1.sqlite');
}

test('a byte changed inside the binary: SQLite says ok, the cache deletes it and compiles', async () => {
  const file = await makeFile();
  const bytes = readFileSync(file);
  const inside = fakeBinary('fake 1.0', unit, 20_000).subarray(9000, 9032);
  const at = bytes.indexOf(inside);
  expect(at).toBeGreaterThan(0);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(file, bytes);

  const connection = loadDriver().open(file, { readOnly: true });
  expect(connection.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  connection.close();

  const cache = JitCache.open({ directory: join(file, '..') });
  const healed = await cache.get(unit, fakeToolchain({ bytes: 20_000 }));
  expect(healed.origin).toBe('compiled');
  expect(Buffer.compare(healed.binary, fakeBinary('fake 1.0', unit, 20_000))).toBe(0);
  expect((await cache.stats()).counters).toMatchObject({ corrupt: 1, setAside: 0, stored: 1 });
  expect(await cache.verify()).toEqual({ checked: 1, corrupt: 0 });
  await cache.close();
});

test.each([
  ['names', `UPDATE entry SET names = '{"entry":"_Zother"}'`],
  ['log', "UPDATE entry SET log = 'another log'"],
  ['compile time', 'UPDATE entry SET compile_ms = 5000.5'],
  ['binary emptied', "UPDATE entry SET binary = x''"],
])('a changed %s is noticed', async (_, statement) => {
  const file = await makeFile();
  const cache = JitCache.open({ directory: join(file, '..') });
  const connection = loadDriver().open(file, { readOnly: false });
  connection.exec(statement);
  connection.close();
  const healed = await cache.get(unit, fakeToolchain({ bytes: 20_000 }));
  expect(healed.origin).toBe('compiled');
  expect(healed.loweredNames).toEqual({ entry: '_Zentry' });
  expect(healed.log).toBe('compiled rotting');
  expect((await cache.stats()).counters.corrupt).toBe(1);
  await cache.close();
});

test('an entry that has got under the key of another is noticed', async () => {
  const file = await makeFile();
  const cache = JitCache.open({ directory: join(file, '..') });
  const other = fakeUnit('other');
  const { key } = await cache.get(other, fakeToolchain());
  await cache.close();
  const connection = loadDriver().open(file, { readOnly: false });
  connection.prepare('DELETE FROM entry WHERE key = ?').run(Buffer.from(key, 'hex'));
  connection.prepare('UPDATE entry SET key = ?').run(Buffer.from(key, 'hex'));
  connection.close();
  const again = JitCache.open({ directory: join(file, '..') });
  const { origin, binary } = await again.get(other, fakeToolchain());
  expect(origin).toBe('compiled');
  expect(Buffer.compare(binary, fakeBinary('fake 1.0', other))).toBe(0);
  await again.close();
});

test('whole bytes of the wrong form are not used', async () => {
  const directory = temporaryDirectory();
  const text = {
    ...fakeToolchain(),
    compile: async () => ({ binary: Buffer.from('no ELF file'), loweredNames: {}, log: '' }),
  };
  const cache = JitCache.open({ directory });
  await expect(cache.get(unit, text)).rejects.toMatchObject({ code: 'ARTIFACT_INVALID' });
  expect(await cache.list()).toEqual([]);
  await cache.close();
});

test('one byte flipped at each of 120 places of the file: right bytes, or a rebuild', async () => {
  const file = await makeFile();
  const outcome = await rotSweep(file, unit, 120, () => {
    const folder = temporaryDirectory();
    mkdirSync(folder, { recursive: true });
    copyFileSync(file, join(folder, 'kernels-v1.sqlite'));
    return folder;
  });
  expect(outcome.wrong).toEqual([]);
  expect(outcome.store).toBeGreaterThan(0);
  expect(outcome.compiled).toBeGreaterThan(0);
});
