import process from 'node:process';
import { missedBinaries, rawBinding } from './addon.js';
import { X86_LEVELS, type CpuLevel } from './compiler/compile-options.js';
import { findCompilerSync } from './compiler/find-compiler.js';
import { AddonNotFoundError, CpuRuntimeError, type Attempt } from './errors.js';
import type { RawInfo } from './raw-binding.js';

/** What the processor offers to this process. */
export interface CpuInfo {
  /** Cores that this process may use: affinity mask and cgroup quota. */
  readonly cores: number;
  /** Highest level that processor and operating system support (cpuid and xgetbv), or the lower one that MERCER_CPU_LEVEL names. */
  readonly level: CpuLevel;
  /** False on x86-64 processors before SSE4.2, where kernels cannot run; `level` is the lowest one then. */
  readonly supported: boolean;
  readonly simd: 'avx512' | 'avx2' | 'sse' | 'neon' | 'wasm128';
  readonly model: string;
  /** Data cache per core. */
  readonly l1Bytes: number;
  /** Per core. */
  readonly l2Bytes: number;
  /** Shared; 0 when there is none. */
  readonly l3Bytes: number;
}

/** {@link CpuInfo} and the compiler. */
export interface CpuReport extends CpuInfo {
  readonly compiler?: {
    readonly path: string;
    /** Identity for cache keys. */
    readonly id: string;
    readonly version: string;
    readonly kind: 'gcc' | 'clang';
  };
  /** Compilers that were tried before the one found, or all of them; and why the addon did not load, if it did not. */
  readonly attempts: readonly Attempt[];
}

let cached: CpuInfo | undefined;

/**
 * Facts about the processor; needs the addon, not a compiler.
 *
 * @throws AddonNotFoundError; CpuRuntimeError `INVALID_ARGUMENT` where MERCER_CPU_LEVEL is no level of this processor
 */
export function cpuInfo(): CpuInfo {
  cached ??= fromRaw(rawBinding().info());
  return cached;
}

function fromRaw(info: RawInfo): CpuInfo {
  const supported = info.level !== 'x86-64-v1';
  const level = supported ? chosenLevel(info.level as CpuLevel) : 'x86-64-v2';
  return Object.freeze({ ...info, level, supported });
}

/** The level that kernels are compiled for: the processor's, or the one below it that MERCER_CPU_LEVEL names. */
function chosenLevel(own: CpuLevel): CpuLevel {
  const named = process.env['MERCER_CPU_LEVEL'] ?? '';
  if (named === '') return own;
  const runs = !X86_LEVELS.includes(own) ? [own] : X86_LEVELS.slice(0, X86_LEVELS.indexOf(own) + 1);
  const found = runs.find((level) => level === named);
  if (found !== undefined) return found;
  throw new CpuRuntimeError(
    'INVALID_ARGUMENT',
    `reading MERCER_CPU_LEVEL failed: "${named}" is none of ${runs.join(', ')}, which this processor runs. Name one of them, or unset it.`,
  );
}

/** Everything at once, for people. Never throws; asks the compiler for its version, which takes some milliseconds. */
export function cpuReport(): CpuReport {
  const { compiler, attempts } = findCompilerSync();
  const found =
    compiler === undefined
      ? {}
      : {
          compiler: {
            path: compiler.path,
            id: compiler.identity,
            version: compiler.version,
            kind: compiler.kind,
          },
        };
  try {
    const info = cpuInfo();
    return { ...info, ...found, attempts: [...missedBinaries(), ...attempts] };
  } catch (error) {
    const failures =
      error instanceof AddonNotFoundError
        ? error.attempts
        : [{ path: 'addon', error: error instanceof Error ? error.message : String(error) }];
    return { ...unknownCpu(), ...found, attempts: [...failures, ...attempts] };
  }
}

function unknownCpu(): CpuInfo {
  const arm = process.arch === 'arm64';
  return {
    cores: 1,
    level: arm ? 'arm64' : 'x86-64-v2',
    supported: false,
    simd: arm ? 'neon' : 'sse',
    model: 'unknown',
    l1Bytes: 0,
    l2Bytes: 0,
    l3Bytes: 0,
  };
}
