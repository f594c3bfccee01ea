import { describeValue } from '@mercer/options';
import { randomUUID } from 'node:crypto';
import { runBatch } from './batch.js';
import { bundleFolders } from './bundle/bundle-folders.js';
import { exportBundles } from './bundle/export-bundle.js';
import { KernelBundles } from './bundle/kernel-bundles.js';
import { debugPrinter } from './debug.js';
import { CacheError } from './errors.js';
import { bundleKey, cacheKey, unitFields } from './key.js';
import { readEntries, readFailures, readStats, verifyEntries } from './maintenance.js';
import { MemoryTier } from './memory-tier.js';
import { checkFolders, checkSignal, readOptions } from './read-options.js';
import { Resolver, type Resolved } from './resolver.js';
import { openSettings, type Settings } from './settings.js';
import { SingleFlight } from './single-flight.js';
import { hasEntry } from './store/entries.js';
import { limitsFor } from './store/eviction.js';
import { StoreSession } from './store/store-session.js';
import { realSystem, type System } from './store/system.js';
import { StoreWriter } from './store/writer.js';
import { TuningStore } from './tuning-store.js';
import {
  BATCH_OPTIONS,
  BUNDLED_OPTIONS,
  CACHE_OPTIONS,
  GET_OPTIONS,
  PRUNE_OPTIONS,
  type Artifact,
  type BatchOptions,
  type BundledOptions,
  type BundleReport,
  type CacheCounters,
  type CacheOptions,
  type CacheStats,
  type CompileUnit,
  type EntryInfo,
  type FailedCompile,
  type GetOptions,
  type PruneOptions,
  type Toolchain,
  type VerifyReport,
} from './types.js';
import { checkUnit } from './unit-check.js';

const MEMORY_BYTES = 64 * 2 ** 20;

function newCounters(): CacheCounters {
  return {
    memoryHits: 0,
    storeHits: 0,
    bundleHits: 0,
    misses: 0,
    compiles: 0,
    failures: 0,
    stored: 0,
    notStored: 0,
    corrupt: 0,
    bundleCorrupt: 0,
    evicted: 0,
    waited: 0,
    setAside: 0,
  };
}

/**
 * From source to binary, once per machine.
 *
 * Opening touches nothing; the store is opened by the first call that needs it. Trouble with the
 * store is never an error: the cache goes on in memory and warns once.
 *
 * @example
 * ```ts
 * import { JitCache, type Toolchain } from '@mercer/jit-cache';
 *
 * const elf = new Uint8Array(64);
 * elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
 * let compiles = 0;
 * const toolchain: Toolchain = {
 *   name: 'example',
 *   identity: 'example 1.0',
 *   compile: async () => (compiles++, { binary: elf, loweredNames: { f: 'f' }, log: '' }),
 * };
 * const cache = JitCache.open({ mode: 'off' });
 * const unit = { language: 'c++', source: 'void f() {}', options: [], target: 'native', names: ['f'] } as const;
 * await cache.get(unit, toolchain);
 * const again = await cache.get(unit, toolchain);
 * await cache.close();
 * if (again.origin !== 'memory' || compiles !== 1) throw new Error('compiled twice');
 * ```
 */
export class JitCache {
  /** Plans that tuning found, in the same store. */
  readonly tuning: TuningStore;
  readonly #settings: Settings;
  readonly #options: CacheOptions;
  readonly #system: System;
  readonly #session: StoreSession | undefined;
  readonly #writer: StoreWriter | undefined;
  readonly #resolver: Resolver;
  readonly #bundles: KernelBundles;
  readonly #memory = new MemoryTier(MEMORY_BYTES);
  readonly #flights = new SingleFlight<Resolved>();
  readonly #counters = newCounters();
  #closed = false;

  /** @internal Use {@link JitCache.open}. */
  constructor(options: CacheOptions, system: System) {
    const settings = openSettings(options, system);
    const limits = limitsFor(settings.maxBytes);
    const counters = this.#counters;
    const writes = settings.mode === 'rw';
    const session =
      settings.mode === 'off'
        ? undefined
        : new StoreSession({
            system,
            directory: settings.directory,
            readOnly: !writes,
            logPages: limits.logPages,
            onWarning: settings.onWarning,
            onSetAside: () => {
              counters.setAside++;
            },
          });
    this.#options = options;
    this.#settings = settings;
    this.#system = system;
    this.#session = session;
    this.#writer =
      session && writes ? new StoreWriter(session, system, limits, counters) : undefined;
    this.#resolver = new Resolver({
      memory: this.#memory,
      session,
      writer: this.#writer,
      system,
      counters,
      owner: randomUUID(),
    });
    this.#bundles = new KernelBundles(
      () => bundleFolders(settings.bundles, system.env),
      counters,
      settings.onWarning,
    );
    this.tuning = new TuningStore(session, writes, system);
  }

  /**
   * A cache over the store of this machine's user. Never throws for trouble with the store.
   *
   * @throws CacheError INVALID_ARGUMENT for options that there are not, and bundles that are no list of folders
   */
  static open(options?: CacheOptions): JitCache {
    const given = readOptions('JitCache.open', options, CACHE_OPTIONS);
    if (given.bundles !== undefined) checkFolders('JitCache.open', 'bundles', given.bundles);
    return new JitCache(given, realSystem());
  }

  /**
   * The compiled unit: from memory, from the store, or compiled now and kept.
   *
   * @throws CacheError INVALID_UNIT, CACHE_CLOSED, ARTIFACT_INVALID; whatever the toolchain throws
   * (failures are not kept); the signal's reason.
   */
  async get(unit: CompileUnit, toolchain: Toolchain, options?: GetOptions): Promise<Artifact> {
    const { signal, debug, timeoutMs, behind } = readOptions('JitCache.get', options, GET_OPTIONS);
    checkSignal('JitCache.get', signal);
    this.#assertOpen();
    signal?.throwIfAborted();
    checkUnit(unit);
    const print = debugPrinter(debug ?? this.#options.debug, this.#system.env);
    const key = cacheKey(unit, toolchain, this.#settings.generator);
    const kept = this.#memory.get(key.hex);
    let resolved: Resolved;
    if (kept) {
      this.#counters.memoryHits++;
      print?.(`hit ${unit.names[0] ?? ''} ${unit.target} ${key.hex.slice(0, 12)} from memory`);
      resolved = { entry: kept, origin: 'memory' };
    } else {
      resolved = await this.#flights.run(
        key.hex,
        (abandoned, isBehind) =>
          this.#resolver.resolve({
            key,
            unit,
            toolchain,
            print,
            timeoutMs,
            signal: abandoned,
            behind: isBehind,
          }),
        signal,
        behind,
      );
    }
    return artifactOf(key.hex, resolved);
  }

  /**
   * The unit out of a bundle (see the option `bundles`), undefined where none has it. Needs no compiler: the key says nothing of one. What
   * is damaged, or for another target, is left out with a warning.
   *
   * @throws CacheError INVALID_UNIT, CACHE_CLOSED
   */
  async bundled(unit: CompileUnit, options?: BundledOptions): Promise<Artifact | undefined> {
    const { debug } = readOptions('JitCache.bundled', options, BUNDLED_OPTIONS);
    this.#assertOpen();
    checkUnit(unit);
    if (!this.#bundles.hasTarget(unit.target)) return undefined;
    const print = debugPrinter(debug ?? this.#options.debug, this.#system.env);
    const key = bundleKey(unitFields(unit, this.#settings.generator));
    const kept = this.#memory.get(key);
    const entry = kept ?? (await this.#bundles.read(unit.target, key));
    if (entry === undefined) return undefined;
    if (kept) this.#counters.memoryHits++;
    else {
      this.#counters.bundleHits++;
      this.#memory.set(key, entry);
    }
    const from = kept ? 'memory' : 'a bundle';
    print?.(`hit ${unit.names[0] ?? ''} ${unit.target} ${key.slice(0, 12)} from ${from}`);
    return artifactOf(key, { entry, origin: kept ? 'memory' : 'bundle' });
  }

  /** Whether a bundle lists the unit. Nothing is counted; an entry whose bytes have rotted is found all the same. */
  async hasBundled(unit: CompileUnit): Promise<boolean> {
    this.#assertOpen();
    checkUnit(unit);
    if (!this.#bundles.hasTarget(unit.target)) return false;
    return this.#bundles.has(unit.target, bundleKey(unitFields(unit, this.#settings.generator)));
  }

  /** Whether there is a bundle for a target, such as `sm_90a`. */
  hasBundleFor(target: string): boolean {
    return this.#bundles.hasTarget(target);
  }

  /**
   * Writes the kernels of the store as bundles into a folder, a file for each target, for other machines: see the option `bundles`. PTX
   * is left out.
   *
   * @throws CacheError INVALID_ARGUMENT, CACHE_CLOSED; the system's own where the folder cannot be written
   */
  async exportBundles(folder: string): Promise<readonly BundleReport[]> {
    this.#assertOpen();
    checkFolders('JitCache.exportBundles', 'folder', [folder]);
    return exportBundles(this.#session, folder);
  }

  /**
   * Whether `get` would find the unit in memory or in the store. Nothing is compiled or counted; an entry whose bytes have rotted is
   * found all the same.
   *
   * @throws CacheError INVALID_UNIT, CACHE_CLOSED
   */
  async has(unit: CompileUnit, toolchain: Toolchain): Promise<boolean> {
    this.#assertOpen();
    checkUnit(unit);
    const key = cacheKey(unit, toolchain, this.#settings.generator);
    if (this.#memory.get(key.hex)) return true;
    return (await this.#session?.read((database) => hasEntry(database, key.bytes))) === true;
  }

  #assertOpen(): void {
    if (!this.#closed) return;
    throw new CacheError('CACHE_CLOSED', 'Cannot compile: the cache was closed. Open another.');
  }

  /**
   * All units, compiled several at once, in the order given. Every unit is tried even when one
   * fails; then that failure is thrown, or a BatchError with all of them.
   */
  async getAll(
    units: readonly CompileUnit[],
    toolchain: Toolchain,
    options?: BatchOptions,
  ): Promise<Artifact[]> {
    const given = readOptions('JitCache.getAll', options, BATCH_OPTIONS);
    const { signal, debug, concurrency, onProgress } = given;
    checkSignal('JitCache.getAll', signal);
    if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
      throw new CacheError(
        'INVALID_ARGUMENT',
        `JitCache.getAll: concurrency is ${describeValue(concurrency)}. Pass a whole number of at least 1.`,
      );
    }
    const one = { ...(signal && { signal }), ...(debug !== undefined && { debug }) };
    const onDone = (done: number, { names }: CompileUnit): void => {
      onProgress?.({ done, total: units.length, current: names[0] ?? '' });
    };
    return runBatch(units, { signal, concurrency, onDone }, (unit) =>
      this.get(unit, toolchain, one),
    );
  }

  /** State, sizes and counters. */
  async stats(): Promise<CacheStats> {
    await this.#session?.open();
    const found = await readStats(this.#session, this.#settings.maxBytes, this.#counters);
    return { ...found, bundles: this.#bundles.folders() };
  }

  /** Descriptions of the stored entries, most recently used first. */
  list(): Promise<EntryInfo[]> {
    return readEntries(this.#session);
  }

  /**
   * Compiles that failed on this machine and have not succeeded since, the newest first, at most 32. A call that is interpreted while its
   * kernel is compiled for later calls does not throw what the compiler says: it stands here.
   */
  failures(): Promise<FailedCompile[]> {
    return readFailures(this.#session);
  }

  /** Checks every stored byte; deletes what has rotted (in mode `rw`). */
  verify(): Promise<VerifyReport> {
    return verifyEntries(this.#session, this.#writer !== undefined, this.#counters);
  }

  /** Deletes least recently used entries until the store fits; returns how many went. */
  async prune(options?: PruneOptions): Promise<number> {
    const { maxBytes = this.#settings.maxBytes } = readOptions(
      'JitCache.prune',
      options,
      PRUNE_OPTIONS,
    );
    return (await this.#writer?.trim(limitsFor(maxBytes).targetBytes)) ?? 0;
  }

  /** Deletes all entries, in memory and in the store, and forgets the compiles that failed; returns how many the store had. */
  async clear(): Promise<number> {
    this.#memory.clear();
    await this.#writer?.forgetFailures();
    return (await this.#writer?.trim(0)) ?? 0;
  }

  /** Waits for compiles that calls wait for, and for writes under way, ends other compiles, and closes the store. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flights.settled();
    await this.#writer?.settled();
    this.#session?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function artifactOf(key: string, { entry, origin }: Resolved): Artifact {
  const { binary, loweredNames, compileMs, log } = entry;
  // A copy: what the caller does with it must not reach the next hit.
  return { key, binary: binary.slice(), loweredNames: { ...loweredNames }, origin, compileMs, log };
}
