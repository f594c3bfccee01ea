import { setImmediate as nextTurn } from 'node:timers/promises';
import { countEntries, deleteEntry, listEntries, listKeys, readEntry } from './store/entries.js';
import { listFailures } from './store/failures.js';
import { usage } from './store/eviction.js';
import type { StoreSession } from './store/store-session.js';
import type { CacheCounters, CacheStats, EntryInfo, FailedCompile, VerifyReport } from './types.js';

/** What the store holds, with sizes; all zero where there is no store. */
export async function readStats(
  session: StoreSession | undefined,
  maxBytes: number,
  counters: CacheCounters,
): Promise<Omit<CacheStats, 'bundles'>> {
  const found = await session?.read((database) => ({
    ...usage(database),
    entries: countEntries(database),
    logBytes: database.logBytes(),
  }));
  const sizes = found ?? { entries: 0, usedBytes: 0, fileBytes: 0, logBytes: 0 };
  return {
    state: session?.state ?? 'off',
    ...(session?.path !== undefined && { path: session.path }),
    ...(session?.reason !== undefined && { reason: session.reason }),
    ...(session?.driver !== undefined && { driver: session.driver }),
    ...sizes,
    maxBytes,
    counters: { ...counters },
  };
}

export async function readEntries(session: StoreSession | undefined): Promise<EntryInfo[]> {
  return (await session?.read(listEntries)) ?? [];
}

export async function readFailures(session: StoreSession | undefined): Promise<FailedCompile[]> {
  return (await session?.read(listFailures)) ?? [];
}

/** Reads every entry, one per turn of the event loop, and deletes those that have rotted. */
export async function verifyEntries(
  session: StoreSession | undefined,
  writes: boolean,
  counters: CacheCounters,
): Promise<VerifyReport> {
  const keys = (await session?.read(listKeys)) ?? [];
  let checked = 0;
  let corrupt = 0;
  for (const key of keys) {
    const found = await session?.read((database) => readEntry(database, key));
    if (found === undefined || found.kind === 'miss') continue;
    checked++;
    if (found.kind === 'hit') continue;
    corrupt++;
    counters.corrupt++;
    if (writes)
      await session?.write((database) => {
        deleteEntry(database, key);
      });
    await nextTurn();
  }
  return { checked, corrupt };
}
