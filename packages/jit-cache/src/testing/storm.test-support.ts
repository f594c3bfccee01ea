import { limitsFor } from '../store/eviction.js';
import { deleteEntry, readEntry } from '../store/entries.js';
import { StoreSession } from '../store/store-session.js';
import { realSystem } from '../store/system.js';
import { StoreWriter } from '../store/writer.js';
import type { CacheCounters, CacheOptions } from '../types.js';
import { cacheKey } from '../key.js';
import { fakeBinary, fakeToolchain, fakeUnit } from './fake-toolchain.test-support.js';

/** Hammers a few keys of a store that other processes hammer too; every read must be whole. */
export async function stormWith(
  options: CacheOptions,
  durationMs: number,
  keys: number,
): Promise<{ reads: number; bad: string[] }> {
  const system = realSystem();
  const limits = limitsFor(options.maxBytes ?? 2 ** 26);
  const bad: string[] = [];
  const session = new StoreSession({
    system,
    directory: options.directory,
    readOnly: false,
    logPages: limits.logPages,
    onWarning: ({ message }) => bad.push(message),
    onSetAside: () => bad.push('set aside'),
  });
  const counters = { stored: 0, notStored: 0, evicted: 0 } as CacheCounters;
  const writer = new StoreWriter(session, system, limits, counters);
  const toolchain = fakeToolchain();
  let reads = 0;
  const end = system.monotonicMs() + durationMs;
  while (system.monotonicMs() < end) {
    const unit = fakeUnit(`storm ${Math.floor(Math.random() * keys)}`);
    const key = cacheKey(unit, toolchain);
    const expected = fakeBinary('fake 1.0', unit, 40_000);
    const draw = Math.random();
    if (draw < 0.3) {
      const json = JSON.stringify(key.fields);
      const what = { key: key.bytes, keyJson: json, target: unit.target, toolchain: 'fake' };
      writer.put({ ...what, binary: expected, loweredNames: {}, log: '', compileMs: 1 }, '');
    } else if (draw < 0.4) {
      await session.write((database) => {
        deleteEntry(database, key.bytes);
      });
    } else {
      const found = await session.read((database) => readEntry(database, key.bytes));
      reads++;
      if (found?.kind === 'corrupt') bad.push(found.why);
      if (found?.kind === 'hit' && Buffer.compare(found.entry.binary, expected) !== 0) {
        bad.push('other bytes');
      }
    }
    await new Promise(setImmediate);
  }
  await writer.settled();
  session.close();
  return { reads, bad };
}
