/**
 * Losses: means, sums or all of what each example or element contributes.
 *
 * @packageDocumentation
 */
export { crossEntropy, nll, type CrossEntropyOptions, type NllOptions } from './class-losses.js';
export {
  binaryCrossEntropyWithLogits,
  huber,
  l1,
  mse,
  type HuberOptions,
} from './elementwise-losses.js';
export type { Reduction, ReductionOption } from './reduced.js';
