/**
 * Linear operators known by their products with vectors, iterative solvers over them, and preconditioners.
 *
 * @packageDocumentation
 */
import './lazy-methods.js';

export { cg, type CgOptions } from './cg.js';
export type { IterativeOptions, PreconditionedOptions, Preconditioner } from './iterative-solve.js';
export { minres, type MinresOptions } from './minres.js';
export { gmres, type GmresOptions } from './gmres.js';
export { lsmr, lsqr, type LeastSquaresOptions } from './least-squares.js';
export type { IterationReport } from './krylov/iterate.js';
export type { LazyOperatorOptions } from './operators/lazy-operator.js';
export { kernelOperator, type KernelOperatorOptions } from './operators/kernel-operator.js';
export { LinearOperator } from './operators/linear-operator.js';
export { operator, type OperatorOptions, type Product } from './operators/make-operator.js';
export {
  blockColumns,
  blockRows,
  denseOperator,
  kroneckerOperator,
  lowRankOperator,
  sparseOperator,
  type CompressedRows,
} from './operators/matrices.js';
export { storedOperator, type StoredOptions } from './operators/stored.js';
export type { OperatorDType } from './operators/operator-types.js';
export {
  NotConvergedError,
  type IterativeSolution,
  type LeastSquaresColumn,
  type LeastSquaresSolution,
  type SolvedColumn,
} from './iterative-solution.js';
export { kernelSolve, type KernelSolve, type KernelSolveOptions } from './kernel-solve.js';
export type { SolveSystemOptions } from './solve.js';
export { SolverError, type SolverErrorCode, type SolverFailure } from './solver-error.js';
export { jacobi } from './preconditioners/jacobi.js';
export { eigenPro, type EigenProOptions } from './preconditioners/eigen-pro.js';
export { falkon, type FalkonOptions } from './preconditioners/falkon.js';
export { nystrom, type NystromOptions } from './preconditioners/nystrom.js';
export {
  pivotedCholesky,
  type PivotedCholeskyOptions,
} from './preconditioners/pivoted-cholesky.js';
export type { EigenSolution } from './spectral/eigen-solution.js';
export { eigsh, type EigshOptions } from './spectral/eigsh.js';
export { lanczos, type Lanczos, type LanczosOptions } from './spectral/lanczos.js';
export { logdet, type LogdetEstimate, type LogdetEstimateOptions } from './spectral/logdet.js';
export { lobpcg, type LobpcgOptions } from './spectral/lobpcg.js';
export type { Which } from './spectral/subspace.js';
export { trace, type TraceEstimate, type TraceOptions } from './spectral/trace.js';
