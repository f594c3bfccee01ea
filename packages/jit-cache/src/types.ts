import type { OptionNames } from '@mercer/options';
import type { Behind } from './shared-work.js';

/** One option of a compile unit: a structured value, never a flag string. */
export interface CompileOption {
  readonly name: string;
  readonly value: boolean | number;
}

/** What is to be compiled. Everything in it goes into the cache key. */
export interface CompileUnit {
  readonly language: 'cuda' | 'c++';
  /** The whole text; nothing is included from elsewhere. */
  readonly source: string;
  /** In the order in which the toolchain shall see them. */
  readonly options: readonly CompileOption[];
  /** `sm_90a` (a cubin), `compute_90` (PTX), `x86-64-v3`, `arm64` (a shared object). */
  readonly target: string;
  /** The entries whose lowered names are wanted. Their order means nothing. */
  readonly names: readonly string[];
}

/** What a toolchain makes of a {@link CompileUnit}. */
export interface CompileOutput {
  readonly binary: Uint8Array;
  readonly loweredNames: Readonly<Record<string, string>>;
  readonly log: string;
}

/** When a compile ends at the latest. */
export interface CompileLimits {
  /** After this time the compiler is killed and the compile fails. */
  readonly timeoutMs?: number;
  /** Stops the compile, which rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Given where the compile is to keep no process alive; while it is true, compiles that are waited for go first. */
  readonly behind?: Behind;
}

/** A compiler as the cache sees it. */
export interface Toolchain {
  /** For people: `nvrtc`, `g++`. Not part of the key. */
  readonly name: string;
  /** Everything about the compiler that can change its output: version, identity of its files. */
  readonly identity: string;
  /** The identity for one target, where it depends on it (PTX is finished by the driver). */
  identityFor?(target: string): string;
  /** Compiles; a toolchain that can be stopped heeds the limits. */
  compile(unit: CompileUnit, limits?: CompileLimits): Promise<CompileOutput>;
}

/** A compiled unit. */
export interface Artifact {
  /** The cache key, 64 hexadecimal digits. */
  readonly key: string;
  /** The caller's own copy. */
  readonly binary: Uint8Array;
  readonly loweredNames: Readonly<Record<string, string>>;
  readonly origin: 'memory' | 'bundle' | 'store' | 'compiled';
  /** What the compile took, in milliseconds, whenever and wherever it was done; 0 of a bundle's kernel, which does not say. */
  readonly compileMs: number;
  /** The compiler's own words. */
  readonly log: string;
}

/** `true` prints to stderr; a function takes each line. */
export type DebugOption = boolean | ((line: string) => void);

/** Options of `JitCache.open`. */
export interface CacheOptions {
  /** Folder of the database. Default: MERCER_CACHE_DIR, XDG_CACHE_HOME/mercer, ~/.cache/mercer. */
  readonly directory?: string;
  /** Bound for the database with its write-ahead log, in bytes. Default 1 GiB. */
  readonly maxBytes?: number;
  /** `rw` uses and fills the store, `ro` only reads it, `off` does neither. Default: MERCER_CACHE, else `rw`. */
  readonly mode?: CacheMode;
  /** Print hits, misses with their reason, and compile times. Default: whether MERCER_DEBUG names `jit`. */
  readonly debug?: DebugOption;
  /** Takes the one warning of a cache that had to fall back. Default: `process.emitWarning`. */
  readonly onWarning?: (warning: CacheWarning) => void;
  /**
   * Folders with bundles, kernels that were compiled elsewhere (`exportBundles` writes them), which are used before anything is compiled.
   * Default: those that MERCER_KERNELS lists as PATH does (`off`: none), else the packages @mercer/kernels-... that are installed.
   */
  readonly bundles?: readonly string[];
  /** Version of the program that writes the sources, when the sources themselves do not tell. */
  readonly generator?: string;
}

/** Names of {@link CacheOptions}. */
export const CACHE_OPTIONS: OptionNames<CacheOptions> = {
  directory: true,
  maxBytes: true,
  mode: true,
  debug: true,
  onWarning: true,
  bundles: true,
  generator: true,
};

export type CacheMode = 'rw' | 'ro' | 'off';

/** Why the cache fell back, and what to do about it. */
export interface CacheWarning {
  readonly code: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** Options of one `get`. */
export interface GetOptions {
  /** Rejects this call; the compile goes on for other calls that wait for it, and is stopped where there are none. */
  readonly signal?: AbortSignal;
  /** After this time a compiler that can be killed is killed. Of calls that share a compile, the first one's counts. */
  readonly timeoutMs?: number;
  readonly debug?: DebugOption;
  /**
   * True while nobody waits for this call: a compile lets others go first. With it a compile that this call starts keeps no process
   * alive, and ends with the cache; whoever calls without it meanwhile waits as always.
   */
  readonly behind?: Behind;
}

/** Names of {@link GetOptions}. */
export const GET_OPTIONS: OptionNames<GetOptions> = {
  signal: true,
  timeoutMs: true,
  debug: true,
  behind: true,
};

/** Where a batch stands. */
export interface BatchProgress {
  readonly done: number;
  readonly total: number;
  /** First wanted name of the unit that has just become ready. */
  readonly current: string;
}

/** Options of `getAll`. */
export interface BatchOptions extends GetOptions {
  /** How many units are under way at once. Default: the machine's parallelism. */
  readonly concurrency?: number;
  readonly onProgress?: (progress: BatchProgress) => void;
}

/** Names of {@link BatchOptions}. */
export const BATCH_OPTIONS: OptionNames<BatchOptions> = {
  ...GET_OPTIONS,
  concurrency: true,
  onProgress: true,
};

/** Options of `prune`. */
export interface PruneOptions {
  /** Default: the bound of the cache. */
  readonly maxBytes?: number;
}

/** Names of {@link PruneOptions}. */
export const PRUNE_OPTIONS: OptionNames<PruneOptions> = { maxBytes: true };

/** A compile that failed on this machine, and has not succeeded since. */
export interface FailedCompile {
  /** Of the unit, as hexadecimal digits. */
  readonly key: string;
  /** Of the functions that were to be compiled. */
  readonly names: readonly string[];
  readonly target: string;
  readonly toolchain: string;
  /** The first line of the error. */
  readonly message: string;
  readonly at: Date;
}

/** One stored entry, without its bytes. */
export interface EntryInfo {
  readonly key: string;
  readonly target: string;
  readonly toolchain: string;
  readonly names: readonly string[];
  readonly bytes: number;
  readonly compileMs: number;
  readonly created: Date;
  readonly lastUsed: Date;
}

/** What the cache did since it was opened. */
export interface CacheCounters {
  memoryHits: number;
  storeHits: number;
  /** Kernels that came out of a bundle. */
  bundleHits: number;
  misses: number;
  compiles: number;
  failures: number;
  /** Entries written. */
  stored: number;
  /** Compiles that were not written: no store, too large, log pinned by a long reader. */
  notStored: number;
  /** Entries whose bytes did not match their checksum or form; they were deleted. */
  corrupt: number;
  /** Kernels of a bundle that were damaged, or for something else; they were compiled. */
  bundleCorrupt: number;
  evicted: number;
  /** Calls that waited for another process' or thread's compile of the same key. */
  waited: number;
  /** Databases set aside as broken. */
  setAside: number;
}

/** What `stats()` tells. */
export interface CacheStats {
  /** `disk`; `read-only` (hits are served, nothing is written); `memory`; `off`. */
  readonly state: 'disk' | 'read-only' | 'memory' | 'off';
  readonly path?: string;
  /** Folders with bundles that are there. */
  readonly bundles: readonly string[];
  /** Why the state is not `disk`. */
  readonly reason?: string;
  readonly driver?: string;
  readonly entries: number;
  /** Pages in use, in bytes. */
  readonly usedBytes: number;
  readonly fileBytes: number;
  readonly logBytes: number;
  readonly maxBytes: number;
  readonly counters: Readonly<CacheCounters>;
}

/** A file that `exportBundles` wrote. */
export interface BundleReport {
  readonly target: string;
  readonly file: string;
  readonly kernels: number;
  readonly bytes: number;
}

/** Options of `bundled`. */
export type BundledOptions = Pick<GetOptions, 'debug'>;

/** Names of {@link BundledOptions}. */
export const BUNDLED_OPTIONS: OptionNames<BundledOptions> = { debug: true };

/** What `verify()` found. */
export interface VerifyReport {
  readonly checked: number;
  readonly corrupt: number;
}
