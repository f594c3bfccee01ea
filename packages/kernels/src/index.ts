export {
  DTYPES,
  dtypeBytes,
  isDType,
  isFloating,
  type DType,
  type PairwiseDType,
} from './dtype.js';
export {
  packParams,
  type KernelParam,
  type PackedParams,
  type ScalarType,
} from './kernel-param.js';
export { isEmitted } from './emitted-kernel.js';
export type {
  BuiltinKernel,
  CompileOption,
  CpuGeometry,
  CpuKernel,
  CudaGeometry,
  CudaKernel,
  EmittedKernel,
  KernelCost,
  LaunchableKernel,
  Scalars,
} from './emitted-kernel.js';
export type { KernelProgram, ProgramStep } from './emitted-kernel.js';
export { isBeyondCompiler, PlanError, type PlanErrorCode } from './plan-error.js';
export { kernelContent } from './emitted-kernel.js';
export type { TileProgram } from './interpret/tile-program.js';
export { tileWork } from './interpret/tile-program.js';
export {
  isInterpreted,
  type CpuLimits,
  type CudaLimits,
  type DeviceLimits,
} from './device-limits.js';
export type { DiagonalMode, Layout, PairwiseProblem, Reduce } from './pairwise/problem.js';
export {
  isSpecialisedNorm,
  normExpressions,
  type NormExpressions,
} from './pairwise/norm-expressions.js';
export {
  customParameterName,
  descriptorExpressions,
  isOneAtZero,
  type CustomKernelFields,
  type DescriptorExpressions,
  type DescriptorNumbers,
  type DescriptorParts,
  type DescriptorPower,
  type InnerOperator,
  type KnownValue,
} from './pairwise/kernel-expressions.js';
export type {
  KernelName,
  PlainKernel,
  ProductKernel,
  RadialKernel,
} from './pairwise/kernel-expressions-functions.js';
export * from './elementwise/index.js';
export { cpuArgSortKernel, cpuCumSumKernel, sortWorkspaceBytes } from './along-rows/along-rows.js';
export { cpuRandomKernel, type RandomNumbers } from './random/cpu-random.js';
export { emitUserKernel, type UserKernel } from './user/user-kernel.js';
export * from './reduce/index.js';
export { planPairwise } from './pairwise/plan.js';
export { emitPairwise } from './pairwise/emit.js';
export type { PairwisePlan } from './pairwise/plan-types.js';
export * from './pairwise-gradient/index.js';
export * from './rows/index.js';
export * from './scatter/index.js';
export * from './matrix/index.js';
export { emitTf32Split, type Tf32SplitStep } from './tf32-split/emit-tf32-split.js';
export * from './totals/index.js';
export * from './products/index.js';
export * from './cdist-grad/index.js';
export * from './map-reduce/index.js';
export { cudaLimitKernels, type LimitKernel } from './limits/cuda-limit-kernels.js';
export { cpuLimitKernels, type CpuLimitKernel } from './limits/cpu-limit-kernels.js';
export { cpuGaussianSum } from './limits/cpu-limit-kernels.js';
