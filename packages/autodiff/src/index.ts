/**
 * Derivatives of functions on tensors.
 *
 * @packageDocumentation
 */
export { AutodiffError, type AutodiffErrorCode } from './autodiff-error.js';
export type { ArgNums, Differentiable, TensorFunction } from './differentiated-call.js';
export {
  grad,
  valueAndGrad,
  type GradientsOf,
  type GradOptions,
  type ValueAndGrad,
} from './grad.js';
export type { Tree } from './tree.js';
