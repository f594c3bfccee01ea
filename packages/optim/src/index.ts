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
export type { Optimiser, OptimiserState, PerSample, StepExtras, StepReport } from './optimiser.js';
export { kfac, type KfacOptions } from './second-order/kfac.js';
export { naturalGradient, type NaturalGradientOptions } from './second-order/natural-gradient.js';
export {
  shampoo,
  type Grafting,
  type RootOption,
  type ShampooOptions,
} from './second-order/shampoo.js';
export { soap, type SoapOptions } from './second-order/soap.js';
export type { LayerStatistics, Statistics } from './statistics/layer-statistics.js';
