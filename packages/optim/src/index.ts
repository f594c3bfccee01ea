/**
 * Optimisers of first and second order, layers, per-sample gradients and mixed precision.
 *
 * @packageDocumentation
 */
export { adam, adamW, type AdamOptions } from './first-order/adam.js';
export type { LearningRate } from './first-order/learning-rate.js';
export { sgd, type SgdOptions } from './first-order/sgd.js';
export type { CommonOptions } from './optimiser-of.js';
export { OptimError, type OptimErrorCode } from './optim-error.js';
export type {
  Optimiser,
  OptimiserState,
  PerSample,
  RefreshReport,
  StepExtras,
  StepReport,
} from './optimiser.js';
export type { KfacOptions } from './second-order/kfac-options.js';
export { kfac } from './second-order/kfac.js';
export { naturalGradient, type NaturalGradientOptions } from './second-order/natural-gradient.js';
export { shampoo } from './second-order/shampoo.js';
export type { Grafting, RootOption, ShampooOptions } from './second-order/shampoo-options.js';
export { soap } from './second-order/soap.js';
export type { SoapOptions } from './second-order/soap-options.js';
export type { LayerStatistics, Statistics } from './statistics/layer-statistics.js';
export * as functional from './layers/functions.js';
export * as initialisers from './layers/initialisers.js';
export * as layers from './layers/index.js';
export * as losses from './losses/index.js';
export {
  perSampleGradients,
  type PerSampleNorms,
  type PerSampleOptions,
} from './per-sample/per-sample-gradients.js';
export { autocast, type AutocastOptions } from './precision/autocast.js';
export {
  withStatistics,
  type StatisticsOptions,
  type WithStatistics,
} from './statistics/with-statistics.js';
export { accumulate, type AccumulateOptions } from './training/accumulate.js';
export { clipByGlobalNorm } from './training/clip.js';
export { ema, type EmaOptions, type MovingAverage } from './training/ema.js';
export { parameterGroups, type GroupOf, type GroupsOptions } from './training/groups.js';
export { lossScale, type LossScaleOptions, type ScaledOptimiser } from './training/loss-scale.js';
export {
  schedules,
  type CosineOptions,
  type ExponentialOptions,
  type Schedule,
  type StepsOptions,
  type WarmUpOptions,
} from './training/schedules.js';
export { muon, type MuonOptions } from './first-order/muon.js';
export {
  loadCheckpoint,
  readCheckpointHeader,
  saveCheckpoint,
  type CheckpointHeader,
  type CheckpointOf,
  type LoadCheckpointOptions,
  type SaveCheckpointOptions,
} from './training/checkpoint.js';
export { lbfgs, type LbfgsOptions } from './first-order/lbfgs.js';
