import process from 'node:process';
import type { CacheCounters } from '../types.js';
import type { Database } from './database.js';
import { putEntry, touchEntries, type EntryRecord } from './entries.js';
import { dropFailure, dropFailures, noteFailure, type FailureRecord } from './failures.js';
import { boundLog, makeRoom, shrinkStep, usage, type Limits } from './eviction.js';
import { dropOldLeases, releaseLease } from './lease.js';
import type { StoreSession } from './store-session.js';
import type { System } from './system.js';

const TOUCH_AFTER_MS = 3_600_000;
const TOUCH_DELAY_MS = 2000;
const PUT_LIMIT_MS = 30_000;
/** What a row takes besides its bytes. */
const ROW_BYTES = 8192;

// Functions of their own are loaded when they are called, and node:process with them, which takes milliseconds of an import (docs/adr/0072).
const beforeExit = (action: () => void): void => {
  process.once('exit', action);
};

const notBeforeExit = (action: () => void): void => {
  process.off('exit', action);
};

/** Everything that changes the store, with its bounds. */
export class StoreWriter {
  readonly #touched = new Map<string, Uint8Array>();
  readonly #pending = new Set<Promise<unknown>>();
  #touchTimer: NodeJS.Timeout | undefined;
  /** A long reader keeps the log from being emptied. */
  #logPinned = false;
  #logFull = false;

  constructor(
    private readonly session: StoreSession,
    private readonly system: System,
    private readonly limits: Limits,
    private readonly counters: CacheCounters,
  ) {}

  /**
   * Stores an entry and gives its lease back in the same transaction. Where the lock is not held
   * by another process, this has happened when the call returns; else it goes on behind.
   */
  put(record: EntryRecord, owner: string): void {
    this.#track(this.#put(record, owner));
  }

  /** Notes a compile that failed: who did not wait for it hears of it from `JitCache.failures`. */
  noteFailure(record: FailureRecord): void {
    if (this.#logFull) return;
    const noted = this.session.write((database) => {
      noteFailure(database, record, this.system.now());
    });
    this.#track(noted);
  }

  /** Forgets the compiles that failed. */
  async forgetFailures(): Promise<void> {
    await this.session.write(dropFailures);
  }

  /** A long reader pins a log that is as long as it may get: not even a lease should be written. */
  get isLogFull(): boolean {
    return this.#logFull;
  }

  /** Notes that an entry was used. Written at most hourly per entry, and several at once. */
  touch(hex: string, key: Uint8Array, lastUsed: number): void {
    if (this.system.now() - lastUsed < TOUCH_AFTER_MS) return;
    this.#touched.set(hex, key);
    if (this.#touchTimer) return;
    this.#touchTimer = setTimeout(this.#flushBehind, TOUCH_DELAY_MS).unref();
    // A program that ends before, without closing the cache: the first attempt of a write is made
    // at once, which is all that can be done then.
    beforeExit(this.#flushBehind);
  }

  readonly #flushBehind = (): void => {
    this.#track(this.flushTouches());
  };

  async flushTouches(): Promise<void> {
    clearTimeout(this.#touchTimer);
    notBeforeExit(this.#flushBehind);
    this.#touchTimer = undefined;
    if (this.#touched.size === 0) return;
    const keys = [...this.#touched.values()];
    this.#touched.clear();
    await this.session.write((database) => {
      touchEntries(database, keys, this.system.now());
    });
  }

  /** Deletes least recently used entries in short transactions, then gives the space back. */
  async trim(targetBytes: number): Promise<number> {
    let evicted = 0;
    for (let gone = 1; gone > 0;) {
      gone =
        (await this.session.write((database) =>
          makeRoom(database, 0, targetBytes, this.limits.maxEntries, 16),
        )) ?? 0;
      evicted += gone;
    }
    this.counters.evicted += evicted;
    await this.session.write((database) => {
      dropOldLeases(database, this.system.now());
    });
    await this.#shrink(targetBytes);
    await this.session.read((database) => boundLog(database, 0));
    return evicted;
  }

  /** Resolves when everything begun has been written or given up. */
  async settled(): Promise<void> {
    await this.flushTouches();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #track(work: Promise<unknown>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  async #put(record: EntryRecord, owner: string): Promise<void> {
    const { limits, system } = this;
    const bytes = record.binary.length + record.log.length + ROW_BYTES;
    if (this.#logPinned) await this.#boundLog();
    const room = !this.#logPinned && bytes <= limits.maxEntryBytes;
    const store = (database: Database) => {
      releaseLease(database, record.key, owner);
      touchEntries(database, this.#touched.values(), system.now());
      const evicted = makeRoom(database, bytes, limits.targetBytes, limits.maxEntries);
      putEntry(database, record, system.now());
      dropFailure(database, record.key);
      shrinkStep(database, limits.maxBytes - limits.maxLogBytes);
      return { evicted, crowded: usage(database).usedBytes > limits.targetBytes };
    };
    const done = room ? await this.session.write(store, PUT_LIMIT_MS) : undefined;
    if (!done) {
      this.counters.notStored++;
      // Whoever waits for this key must not wait for the lease to run out.
      await this.session.release((database) => {
        releaseLease(database, record.key, owner);
      });
      return;
    }
    this.#touched.clear();
    this.counters.stored++;
    this.counters.evicted += done.evicted;
    await this.#boundLog();
    if (done.crowded) await this.trim(limits.targetBytes);
  }

  async #boundLog(): Promise<void> {
    const { maxLogBytes } = this.limits;
    const logBytes = await this.session.read((database) =>
      boundLog(database, maxLogBytes) ? 0 : database.logBytes(),
    );
    this.#logPinned = logBytes !== 0;
    this.#logFull = logBytes !== undefined && logBytes > 2 * maxLogBytes;
  }

  async #shrink(maxFileBytes: number): Promise<void> {
    let more: boolean | undefined = true;
    while (more) more = await this.session.write((database) => shrinkStep(database, maxFileBytes));
  }
}
