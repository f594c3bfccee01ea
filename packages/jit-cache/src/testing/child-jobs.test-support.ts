import type { CacheOptions, CacheStats, CacheWarning, CompileUnit } from '../types.js';
import type { FakeToolchainOptions } from './fake-toolchain.test-support.js';
import type { LoopReport } from './loop-watch.test-support.js';

/** What every child is told. */
export interface ChildSettings {
  readonly cache: Omit<CacheOptions, 'onWarning' | 'debug'>;
  readonly toolchain?: FakeToolchainOptions;
  /** Becomes this user and group first. */
  readonly uid?: number;
  readonly umask?: number;
  /** Prints `ready` and waits for a line on stdin before it begins. */
  readonly waits?: boolean;
}

/** What a child can be asked to do. */
export type ChildJob =
  /** Gets the units one after the other. */
  | { readonly kind: 'get'; readonly units: readonly CompileUnit[] }
  /** Gets the units; before the n-th statement of SQLite it kills itself. */
  | { readonly kind: 'die-at'; readonly units: readonly CompileUnit[]; readonly statement: number }
  /** Opens the database, takes its write lock, prints `held`, lets go after `holdMs`. */
  | { readonly kind: 'hold-lock'; readonly path: string; readonly holdMs: number }
  /** Gets new units one after the other for `durationMs`, and measures a 10 ms timer meanwhile. */
  | { readonly kind: 'timer'; readonly durationMs: number; readonly unitBytes: number }
  /** Writes, deletes and reads a few shared keys until the time is over, checking every read. */
  | { readonly kind: 'storm'; readonly durationMs: number; readonly keys: number }
  /** Ends worker threads in the midst of reading, writing and compiling, while it uses the store itself. */
  | { readonly kind: 'terminate'; readonly workers: number; readonly driver: string }
  /** Gets one unit many times at once in each of several worker threads. */
  | {
      readonly kind: 'workers';
      readonly unit: CompileUnit;
      readonly workers: number;
      readonly calls: number;
    };

export interface ChildGet {
  readonly origin: string;
  /** SHA-256 of the bytes, hexadecimal. */
  readonly sha: string;
  readonly log: string;
  readonly loweredNames: Readonly<Record<string, string>>;
  readonly ms: number;
}

export interface ChildResult {
  readonly gets: ChildGet[];
  readonly stats: CacheStats;
  readonly warnings: Omit<CacheWarning, 'cause'>[];
  readonly loop?: LoopReport;
  readonly reads?: number;
  readonly bad?: string[];
  /** Files of the cache that are open at the end. */
  readonly openFiles?: string[];
}
