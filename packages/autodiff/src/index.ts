/**
 * Derivatives of functions on tensors.
 *
 * @packageDocumentation
 */
export { AutodiffError, type AutodiffErrorCode } from './autodiff-error.js';
export {
  checkGradients,
  type CheckGradientsOptions,
  type DerivativeMode,
} from './check-gradients.js';
export type { ArgNums, Differentiable, TensorFunction } from './differentiated-call.js';
export {
  grad,
  valueAndGrad,
  type AuxFunction,
  type GradientsOf,
  type GradOptions,
  type ValueAndGrad,
  type WithAux,
} from './grad.js';
export {
  checkpoint,
  customJvp,
  customVjp,
  stopGradient,
  type Cotangents,
  type CustomCall,
  type TangentsOf,
  type StopGradient,
} from './custom.js';
export { hessian, hvp, jacobian, type TensorToTensor } from './higher-order.js';
export {
  jvp,
  type ChangesOf,
  type JvpOptions,
  type TreeFunction,
  type ValueAndTangent,
} from './jvp.js';
export { linearize, type Linearized } from './linearize.js';
export { prepare, type Prepared } from './prepare.js';
export { scan, type Scanned, type ScanOptions } from './scan.js';
export type { Settled, Tree } from './tree.js';
export { vmap, type MappedAxes, type VmapOptions } from './vmap.js';
export { vjp, type CotangentOf, type Pulled, type VjpOptions } from './vjp.js';
