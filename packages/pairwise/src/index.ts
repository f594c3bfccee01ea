export {
  cdist,
  type Cdist,
  type PrepareCdist,
  type PrepareCdistOptions,
  type PreparedCdist,
} from './cdist.js';
export type { CdistOptions } from './cdist-options.js';
export {
  weightedDifferences,
  type PrepareWeightedDifferences,
  type PrepareWeightedDifferencesOptions,
  type PreparedWeightedDifferences,
  type PreparedWeightedDifferencesOptions,
  type WeightedDifferences,
} from './weighted-differences.js';
// eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated for those who call it
export { cdistGrad } from './cdist-grad.js';
export type { WeightedDifferencesOptions } from './weighted-differences-options.js';
export { customKernel, type CustomKernel, type CustomKernelOptions } from './custom-kernel.js';
export type { DescriptorOf, KernelDescriptor } from './descriptor-types.js';
export { kernelDescriptor } from './kernel-descriptor.js';
export type { PairwiseInput } from './place.js';
export type {
  PreparedKernel,
  PreparedKernelOptions,
  PrepareRunKernel,
} from './prepare-run-kernel.js';
export {
  precompile,
  type PrecompileEntry,
  type PrecompileLayouts,
  type PrecompileOptions,
  type PrecompileParameters,
  type PrecompileReport,
  type PrecompileSize,
} from './precompile.js';
export * as kernels from './ready-made.js';
export type {
  BlockRows,
  BlockRowsBeside,
  DTypeOfRows,
  ResultIn,
  RowsBeside,
  RowsInput,
} from './rows-input.js';
export type { HostOut } from './blocks/result-sink.js';
export { runKernel, type RunKernel } from './run-kernel.js';
export { runKernelBackward, type RunKernelBackward } from './run-kernel-backward.js';
export type {
  Gradients,
  PreparedBackward,
  PreparedBackwardOptions,
  RunKernelBackwardOptions,
  RunKernelVariable,
} from './run-kernel-backward-options.js';
export type {
  AnyRunKernelOptions,
  PairwiseCallOptions,
  ParameterValue,
  RowsAndOptions,
  RunKernelOptions,
} from './run-kernel-options.js';
export type {
  CdistGradPlan as WeightedDifferencesPlan,
  DescriptorPower,
  InnerOperator,
  PairwiseDType,
  PairwisePlan,
  PlainKernel,
  ProductKernel,
  RadialKernel,
} from '@mercer/kernels';
export {
  cdistBackward,
  type CdistBackward,
  type CdistBackwardOptions,
  type CdistVariable,
} from './cdist-backward.js';
