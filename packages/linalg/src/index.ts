export * from './backward/index.js';
export type { LinalgDType } from './checks.js';
export {
  cholesky,
  type CholeskyFactor,
  type CholeskyOptions,
  type JitterWarning,
} from './cholesky.js';
export {
  conditionEstimate,
  type ConditionEstimate,
  type ConditionOptions,
} from './condition-estimate.js';
export { eigh, type Eigen, type EighOptions } from './eigh.js';
export {
  LinalgError,
  NoConvergenceError,
  NotFiniteError,
  NotPositiveDefiniteError,
  NotSemidefiniteError,
  SingularMatrixError,
  type LinalgErrorCode,
} from './errors.js';
export { einsum, type EinsumOptions } from './einsum.js';
export { inv, type InvOptions, type InverseResult } from './inv.js';
export { kron, type KronOptions } from './kron.js';
export { kronMatvec } from './kron-matvec.js';
export { slogdet, type Slogdet, type SlogdetOptions } from './slogdet.js';
export { lstsq, type LeastSquares, type LstsqOptions } from './lstsq.js';
export { matmul, type MatmulOptions } from './matmul.js';
export { matrixPower, type MatrixPower, type MatrixPowerOptions } from './matrix-power.js';
export type {
  FactorOption,
  Infos,
  RightHandSidesOption,
  RunOptions,
  CallOptions,
  TriangleOption,
} from './options.js';
export type { ProductPrecision } from './precision.js';
export { qr, type QrFactors } from './qr.js';
export type { Solution, SolveOptions } from './solve.js';
export { solveCholesky, type SolveCholeskyOptions } from './solve-cholesky.js';
export { solveLU } from './solve-lu.js';
export { svd, type SingularValues } from './svd.js';
export { solveTriangular, type SolveTriangularOptions } from './solve-triangular.js';
