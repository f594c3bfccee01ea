/**
 * Optimisers of first and second order, layers, per-sample gradients and mixed precision.
 *
 * @packageDocumentation
 */
export { OptimError, type OptimErrorCode } from './optim-error.js';
export type { Optimiser, OptimiserState, StepExtras, StepReport } from './optimiser.js';
export type { LayerStatistics, Statistics } from './statistics/layer-statistics.js';
