export { runBatch, type BatchRun } from './batch.js';
export { JitCache } from './cache.js';
export { debugPrinter, type DebugPrinter } from './debug.js';
export { BatchError, CacheError, type CacheErrorCode } from './errors.js';
export { keepingAlive, SharedWork, type Behind } from './shared-work.js';
export type { TuningStore } from './tuning-store.js';
export type {
  Artifact,
  BatchOptions,
  BatchProgress,
  BundledOptions,
  BundleReport,
  CacheCounters,
  CacheMode,
  CacheOptions,
  CacheStats,
  CacheWarning,
  CompileLimits,
  CompileOption,
  CompileOutput,
  CompileUnit,
  DebugOption,
  EntryInfo,
  FailedCompile,
  GetOptions,
  PruneOptions,
  Toolchain,
  VerifyReport,
} from './types.js';
export { cudaTarget } from './toolchains/cuda-target.js';
export { hostToolchain } from './toolchains/host.js';
export { nvrtcToolchain } from './toolchains/nvrtc.js';
