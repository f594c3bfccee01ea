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
export {
  checkpoint,
  customVjp,
  stopGradient,
  type Cotangents,
  type CustomCall,
  type StopGradient,
} from './custom.js';
export { hessian, hvp, jacobian, type TensorToTensor } from './higher-order.js';
export { jvp, type ChangesOf, type TreeFunction, type ValueAndTangent } from './jvp.js';
export type { Tree } from './tree.js';
export { vjp, type Pulled } from './vjp.js';
