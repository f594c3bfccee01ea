import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { fakeToolchain, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

const NAME = 'kernels-v1.sqlite';
const PAGE = 4096;
const FRAME_HEADER = 24;
const LOG_HEADER = 32;
const units = Array.from({ length: 8 }, (_, n) => fakeUnit(`checkpoint ${n}`));

/** Page 1 as the newest frame of the log holds it (SQLite's file format, section 4.1). */
function firstPageOfLog(log: Buffer): Buffer {
  let page: Buffer | undefined;
  for (let at = LOG_HEADER; at + FRAME_HEADER + PAGE <= log.length; at += FRAME_HEADER + PAGE) {
    const start = at + FRAME_HEADER;
    if (log.readUInt32BE(at) === 1) page = log.subarray(start, start + PAGE);
  }
  if (!page) throw new Error('the log has no page 1');
  return page;
}

/**
 * A store as a checkpoint leaves it that stops after its first page: the file's header tells of
 * more pages than the file has, and the log has them all.
 */
async function checkpointCutShort(): Promise<string> {
  const source = temporaryDirectory();
  const directory = join(temporaryDirectory(), 'cache');
  mkdirSync(directory, { mode: 0o700 });
  const cache = JitCache.open({ directory: source });
  for (const unit of units) await cache.get(unit, fakeToolchain());
  await cache.stats();
  const file = join(directory, NAME);
  copyFileSync(join(source, NAME), file);
  copyFileSync(join(source, `${NAME}-wal`), `${file}-wal`);
  await cache.close();
  const bytes = readFileSync(file);
  firstPageOfLog(readFileSync(`${file}-wal`)).copy(bytes);
  writeFileSync(file, bytes);
  expect(bytes.readUInt32BE(28) * PAGE).toBeGreaterThan(statSync(file).size);
  return directory;
}

test('a checkpoint that stopped after its first page loses nothing', async () => {
  const directory = await checkpointCutShort();
  const cache = JitCache.open({ directory });
  for (const unit of units) expect((await cache.get(unit, fakeToolchain())).origin).toBe('store');
  expect((await cache.stats()).counters.setAside).toBe(0);
  expect(await cache.verify()).toEqual({ checked: units.length, corrupt: 0 });
  await cache.close();
  expect(readdirSync(directory).filter((name) => name.includes('broken'))).toEqual([]);
});

test('the database of another program in that state is known and left as it is', async () => {
  const directory = await checkpointCutShort();
  const file = join(directory, NAME);
  const foreign = loadDriver().open(file, { readOnly: false });
  for (const table of ['meta', 'entry', 'lease', 'tuning']) foreign.exec(`DROP TABLE ${table}`);
  foreign.exec('CREATE TABLE notes (text)');
  foreign.exec("INSERT INTO notes VALUES ('precious')");
  const log = readFileSync(`${file}-wal`);
  const bytes = readFileSync(file);
  foreign.close();
  bytes.writeUInt32BE(bytes.length / PAGE + 10, 28);
  writeFileSync(file, bytes);
  writeFileSync(`${file}-wal`, log);
  const codes: string[] = [];
  const cache = JitCache.open({ directory, onWarning: ({ code }) => codes.push(code) });
  await cache.get(fakeUnit('other'), fakeToolchain());
  expect((await cache.stats()).state).toBe('memory');
  await cache.close();
  expect(codes).toEqual(['FOREIGN_DATABASE']);
  expect(Buffer.compare(readFileSync(file), bytes)).toBe(0);
  expect(Buffer.compare(readFileSync(`${file}-wal`), log)).toBe(0);
});
