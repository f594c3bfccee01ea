/**
 * Mercer in one import: tensors on GPU and CPU, fused pairwise kernels, derivatives of functions on them, symbolic matrices, dense linear algebra, and what they stand on.
 *
 * @packageDocumentation
 */
export * from '@mercer/autodiff';
export * from '@mercer/tensor';
export * from '@mercer/lazy';
export * from '@mercer/linalg';
export * from '@mercer/optim';
export * from '@mercer/pairwise';
export * from '@mercer/solvers';
// of matrices as linalg's, and of operators
export { logdet } from '@mercer/solvers';
export * as formula from '@mercer/formula';
export {
  cublas,
  cublasLt,
  cuda,
  cusolver,
  nccl,
  nvrtc,
  type CudaReport,
  type LibraryReport,
} from '@mercer/cuda-runtime';
export { cpu, lapack, type CpuReport, type LapackReport } from '@mercer/cpu-runtime';
export {
  JitCache,
  type CacheOptions,
  type CacheStats,
  type CacheWarning,
  type EntryInfo,
  type FailedCompile,
  type VerifyReport,
} from '@mercer/jit-cache';
export type { CpuLimits, CudaLimits, DeviceLimits } from '@mercer/kernels';
