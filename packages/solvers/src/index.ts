/**
 * Linear operators known by their products with vectors, iterative solvers over them, and preconditioners.
 *
 * @packageDocumentation
 */
import './lazy-methods.js';

export { cg, type CgOptions, type Preconditioner } from './cg.js';
export type { IterationReport } from './krylov/iterate.js';
export type { LazyOperatorOptions } from './operators/lazy-operator.js';
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
export type { OperatorDType } from './operators/operator-types.js';
export {
  NotConvergedError,
  type IterativeSolution,
  type SolvedColumn,
} from './iterative-solution.js';
export { kernelSolve, type KernelSolve, type KernelSolveOptions } from './kernel-solve.js';
export type { SolveSystemOptions } from './solve.js';
export { SolverError, type SolverErrorCode } from './solver-error.js';
export { jacobi } from './preconditioners/jacobi.js';
export { nystrom, type NystromOptions } from './preconditioners/nystrom.js';
export {
  pivotedCholesky,
  type PivotedCholeskyOptions,
} from './preconditioners/pivoted-cholesky.js';
