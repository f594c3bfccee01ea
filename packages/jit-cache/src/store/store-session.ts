import { dirname, join } from 'node:path';
import type { CacheWarning } from '../types.js';
import type { Database } from './database.js';
import type { Driver } from './driver-types.js';
import { boundLog } from './eviction.js';
import { findDirectory, makeLocalDirectory } from './directory.js';
import { openDatabase, setAsideIfSame, type OpenRequest } from './open-database.js';
import { backOff } from './retry.js';
import { DATABASE_NAME } from './schema.js';
import { errorKind, sqliteCode } from './sqlite-error.js';
import { StoreFault } from './store-fault.js';
import type { System } from './system.js';

const MOST_REPAIRS = 3;
const RELEASE_LIMIT_MS = 8000;
const USUAL_FIX =
  'Set MERCER_CACHE_DIR to a folder of your own that can be written, or MERCER_CACHE=off.';
const FREE_SPACE = 'Free some space there, or set MERCER_CACHE_DIR to a folder on another disk.';
const LEAST_FREE_BYTES = 2 ** 18;
const CANTOPEN = 14;
const IOERR = 10;
const PROTOCOL = 15;

export interface SessionOptions {
  readonly system: System;
  readonly directory: string | undefined;
  readonly readOnly: boolean;
  readonly logPages: number;
  readonly onWarning: (warning: CacheWarning) => void;
  readonly onSetAside: () => void;
}

interface Opened {
  readonly request: OpenRequest;
  readonly database: Database;
  writable: boolean;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The same trouble could be met on any disk, or only where write-ahead logging is impossible. */
function cannotLog(error: unknown): boolean {
  if (error instanceof StoreFault) return error.code === 'NO_WAL';
  const primary = (sqliteCode(error) ?? 0) & 0xff;
  return primary === CANTOPEN || primary === IOERR || primary === PROTOCOL;
}

/**
 * The store as the cache uses it: opened at first use, opened again when its file was exchanged,
 * set aside when broken, given up with one warning when it cannot be had. Neither `read` nor
 * `write` ever throws, and neither blocks the event loop to wait for a lock.
 */
export class StoreSession {
  readonly #options: SessionOptions;
  #opened: Opened | undefined;
  #opening: Promise<Opened | undefined> | undefined;
  #givenUp = false;
  #reason: string | undefined;
  #warned = false;
  #repairs = 0;
  #lockTrouble = false;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get path(): string | undefined {
    return this.#opened?.request.path;
  }

  get driver(): string | undefined {
    return this.#opened?.request.driver.name;
  }

  get state(): 'disk' | 'read-only' | 'memory' {
    if (!this.#opened) return 'memory';
    return this.#opened.writable ? 'disk' : 'read-only';
  }

  /** Why the state is not `disk`. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether the store's disk has room for an entry, as far as that can be told. */
  get hasRoom(): boolean {
    return this.path === undefined || this.#freeBytes(dirname(this.path)) > LEAST_FREE_BYTES;
  }

  /** Opens the store if that has not been tried. */
  async open(): Promise<void> {
    await this.#ensure();
  }

  /** Runs a read; undefined where there is no store. */
  async read<T>(body: (database: Database) => T, limitMs = 2000): Promise<T | undefined> {
    return this.#run(body, false, limitMs);
  }

  /**
   * Runs `body` in a write transaction; undefined where nothing can be written, or the lock could
   * not be had within `limitMs`. With the store open, the first attempt is made before this returns.
   */
  async write<T>(body: (database: Database) => T, limitMs = 8000): Promise<T | undefined> {
    return this.#run((database) => database.transaction(() => body(database)), true, limitMs);
  }

  /**
   * Runs `body` in a write transaction also where writing was given up: on a full disk something can
   * still be given back, if need be where the log, once emptied, leaves room. Never warns.
   */
  async release(body: (database: Database) => void): Promise<void> {
    const { system } = this.#options;
    const started = system.monotonicMs();
    for (let attempt = 0, emptied = false; ; attempt++) {
      const database = this.#opened?.database;
      if (!database || database.readOnly) return;
      try {
        database.transaction(() => {
          body(database);
        });
        return;
      } catch (error) {
        const kind = errorKind(error);
        if (kind === 'full' && !emptied) {
          emptied = true;
          await this.read((opened) => boundLog(opened, 0));
        } else if (kind !== 'busy' || system.monotonicMs() - started > RELEASE_LIMIT_MS) {
          return;
        } else {
          await backOff(attempt, system.random);
        }
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #run<T>(
    body: (database: Database) => T,
    writes: boolean,
    limitMs: number,
  ): Promise<T | undefined> {
    const { system } = this.#options;
    const started = system.monotonicMs();
    let moves = 0;
    for (let attempt = 0; ; attempt++) {
      const opened = this.#opened ?? (await this.#ensure());
      if (!opened || (writes && !opened.writable)) return undefined;
      try {
        const result = body(opened.database);
        if (writes) this.#lockTrouble = false;
        return result;
      } catch (error) {
        const kind = errorKind(error);
        if (kind === 'busy') {
          // After one full wait in vain further calls do not wait as long again.
          const limit = this.#lockTrouble ? Math.min(limitMs, 100) : limitMs;
          if (system.monotonicMs() - started > limit) {
            if (writes) this.#lockTrouble = true;
            this.#warn(
              'LOCKED',
              `${opened.request.path} stays locked by another process`,
              'End that process; until then compiled kernels are kept in memory only.',
              error,
            );
            return undefined;
          }
          await backOff(attempt, system.random);
        } else if (kind === 'moved' && ++moves <= MOST_REPAIRS) {
          if (this.#opened === opened) this.#drop();
        } else if (kind === 'broken' && opened.writable && this.#repairs < MOST_REPAIRS) {
          await this.#repair(opened, error);
        } else if (kind === 'full' || kind === 'readonly' || (writes && kind === 'unavailable')) {
          opened.writable = false;
          this.#warnMemory(opened.request.path, error);
          return undefined;
        } else {
          if (this.#opened === opened) this.#drop();
          this.#giveUp(opened.request.path, error);
          return undefined;
        }
      }
    }
  }

  async #repair(opened: Opened, error: unknown): Promise<void> {
    if (this.#opened !== opened) return;
    this.#repairs++;
    try {
      await setAsideIfSame(opened.request, opened.database, error);
    } catch (failure) {
      this.#giveUp(opened.request.path, failure);
    }
    if (this.#opened === opened) this.#drop();
  }

  #drop(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
  }

  #ensure(): Promise<Opened | undefined> {
    if (this.#givenUp || this.#closed) return Promise.resolve(undefined);
    if (this.#opened) return Promise.resolve(this.#opened);
    this.#opening ??= this.#openStore().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openStore(): Promise<Opened | undefined> {
    const { system, directory, readOnly } = this.#options;
    let place = 'the compile cache';
    try {
      const driver = system.driver();
      const found = findDirectory(system, directory, !readOnly);
      place = found.path;
      if (found.avoided) this.#warnMoved(found.avoided.message, found.path, found.avoided);
      try {
        return await this.#openAt(driver, found.path);
      } catch (error) {
        this.#assertRoom(found.path, error);
        const stays = found.avoided !== undefined || !system.isWritable(found.path);
        if (stays || readOnly || !cannotLog(error)) throw error;
        // A folder on a disk of this machine may do what this one cannot.
        place = makeLocalDirectory(system);
        if (place === found.path) throw error;
        const opened = await this.#openAt(driver, place);
        this.#warnMoved(`${found.path} cannot hold it: ${text(error)}`, place, error);
        return opened;
      }
    } catch (error) {
      this.#giveUp(place, error);
      return undefined;
    }
  }

  /** SQLite tells of a full disk in several ways; the user needs the one true reason. */
  #assertRoom(directory: string, cause: unknown): void {
    const free = this.#freeBytes(directory);
    if (free > LEAST_FREE_BYTES) return;
    const why = `${directory} is on a full disk (${free} bytes free)`;
    throw new StoreFault('FULL', why, FREE_SPACE, { cause });
  }

  #freeBytes(directory: string): number {
    return this.#options.system.freeBytes(directory) ?? Infinity;
  }

  async #openAt(driver: Driver, directory: string): Promise<Opened> {
    const { system, readOnly, logPages, onSetAside } = this.#options;
    const path = join(directory, DATABASE_NAME);
    const request = { driver, path, system, readOnly, logPages, onSetAside };
    let database: Database;
    try {
      database = await openDatabase(request);
    } catch (error) {
      const kind = errorKind(error);
      const unwritable = kind === 'readonly' || kind === 'unavailable';
      if (readOnly || error instanceof StoreFault || !unwritable) throw error;
      // A folder that cannot be written may still hold kernels for us to read.
      try {
        database = await openDatabase({ ...request, readOnly: true });
      } catch {
        throw error;
      }
      this.#warnMemory(path, error);
    }
    this.#opened = { request, database, writable: !database.readOnly };
    if (this.#closed) this.#drop();
    return this.#opened;
  }

  #giveUp(place: string, error: unknown): void {
    this.#givenUp = true;
    this.#warnMemory(place, error);
  }

  #warnMemory(place: string, error: unknown): void {
    const fault = error instanceof StoreFault ? error : undefined;
    const full = errorKind(error) === 'full';
    const code = fault?.code ?? (full ? 'FULL' : 'UNAVAILABLE');
    const why = fault?.message ?? `${place}: ${text(error)}`;
    this.#warn(code, why, fault?.fix ?? (full ? FREE_SPACE : USUAL_FIX), error);
  }

  #warnMoved(why: string, place: string, cause: unknown): void {
    this.#warn(
      cause instanceof StoreFault ? cause.code : 'NO_WAL',
      why,
      `Using ${place} on this machine instead; set MERCER_CACHE_DIR to a local folder to choose one.`,
      cause,
      'Compiled kernels are kept elsewhere',
    );
  }

  /** One warning in the life of a cache; none from a thread that is being ended. */
  #warn(
    code: string,
    why: string,
    fix: string,
    cause: unknown,
    what = 'Compiled kernels are not kept on disk',
  ): void {
    this.#reason ??= why;
    if (this.#warned || code === 'ENDED') return;
    this.#warned = true;
    this.#options.onWarning({ code, message: `${what}: ${why}. ${fix}`, cause });
  }
}
