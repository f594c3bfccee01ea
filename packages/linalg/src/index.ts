export * from './backward/index.js';
export type { LinalgDType } from './checks.js';
export {
  cholesky,
  type Cholesky,
  type CholeskyFactor,
  type CholeskyOptions,
  type JitterWarning,
} from './cholesky.js';
export {
  conditionEstimate,
  type ConditionEstimateFunction,
  type ConditionEstimate,
  type ConditionOptions,
} from './condition-estimate.js';
export { eigh, type Eigen, type Eigh, type EighOptions } from './eigh.js';
export {
  LinalgError,
  NoConvergenceError,
  NotFiniteError,
  NotPositiveDefiniteError,
  NotSemidefiniteError,
  SingularMatrixError,
  type LinalgErrorCode,
} from './errors.js';
export { einsum, type Einsum, type EinsumOptions } from './einsum.js';
export { inv, type Inv, type InvOptions, type InverseResult } from './inv.js';
export { kron, type Kron, type KronOptions } from './kron.js';
export { kronMatvec, type KronMatvec } from './kron-matvec.js';
export { logdet, type Logdet, type LogdetFunction, type LogdetOptions } from './logdet.js';
export { lstsq, type LeastSquares, type Lstsq, type LstsqOptions } from './lstsq.js';
export { matmul, type Matmul, type MatmulOptions, type PreparedMatmulOptions } from './matmul.js';
export {
  matrixPower,
  type MatrixPower,
  type MatrixPowerFunction,
  type MatrixPowerOptions,
} from './matrix-power.js';
export type {
  FactorOption,
  Infos,
  PreparedCallOptions,
  PreparedRoutine,
  RoutinePrepareOptions,
  ResultTargets,
  RightHandSidesOption,
  RunOptions,
  CallOptions,
  TriangleOption,
} from './options.js';
export type { ProductPrecision } from './precision.js';
export { qr, type Qr, type QrFactors, type QrOptions } from './qr.js';
export {
  refineEigenbasis,
  type RefinedEigenbasis,
  type RefineEigenbasis,
  type RefineEigenbasisOptions,
} from './refine-eigenbasis.js';
export type { PreparedSolve, Solution, SolveOptions } from './solve.js';
export { solveCholesky, type SolveCholesky, type SolveCholeskyOptions } from './solve-cholesky.js';
export { solveLU, type SolveLU } from './solve-lu.js';
export { svd, type SingularValues, type Svd, type SvdOptions } from './svd.js';
export {
  solveTriangular,
  type SolveTriangular,
  type SolveTriangularOptions,
} from './solve-triangular.js';
