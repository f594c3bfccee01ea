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
export type { Optimiser, OptimiserState, StepExtras, StepReport } from './optimiser.js';
export type { LayerStatistics, Statistics } from './statistics/layer-statistics.js';
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
  saveCheckpoint,
  type CheckpointHeader,
  type CheckpointOf,
} from './training/checkpoint.js';
export { lbfgs, type LbfgsOptions } from './first-order/lbfgs.js';
