export * from './arithmetic.js';
export * from './complex.js';
export * from './components.js';
export {
  abs,
  acos,
  asin,
  atan,
  atan2,
  besselJ,
  besselK,
  ceil,
  clamp,
  clampInt,
  cos,
  cosh,
  diffClampInt,
  erf,
  erfc,
  exp,
  expm1,
  floor,
  ifElse,
  lgamma,
  log,
  log1p,
  logAddExp,
  logistic,
  maximum,
  minimum,
  mod,
  polygamma,
  relu,
  round,
  rsqrt,
  sign,
  sin,
  sinc,
  sinh,
  sinXDivX,
  softplus,
  sqrt,
  step,
  tan,
  tanh,
  where,
  xlogx,
} from './functions.js';
export * from './matrices.js';
export * from './radial-kernels.js';
export * from './splines.js';
export * from './structure.js';
export { literal as constant, zero } from '../nodes.js';
