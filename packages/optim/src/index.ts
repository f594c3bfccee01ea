/**
 * Optimisers of first and second order, layers, per-sample gradients and mixed precision.
 *
 * @packageDocumentation
 */
export { OptimError, type OptimErrorCode } from './optim-error.js';
export type { Optimiser, OptimiserState, StepExtras, StepReport } from './optimiser.js';
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
