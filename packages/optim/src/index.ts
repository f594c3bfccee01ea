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
