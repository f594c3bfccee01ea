import type { Tensor } from '@mercer/tensor';
import type { OperatorDType } from './operators/operator-types.js';
import { SolverError } from './solver-error.js';

/** How the solve of a right-hand side ended. */
export interface SolvedColumn {
  readonly converged: boolean;
  readonly iterations: number;
  /** The norm of the true residual `b - A x`, by that of b; as it is where b is 0. */
  readonly residual: number;
}

/** A solution, and how it was found. */
export interface IterativeSolution<D extends OperatorDType> {
  /** Like b. The caller disposes it. */
  readonly x: Tensor<D>;
  /** Whether all columns have converged. */
  readonly converged: boolean;
  /** The most of the columns. */
  readonly iterations: number;
  /** The largest of the columns. */
  readonly residual: number;
  /** One for each column of b. */
  readonly columns: readonly SolvedColumn[];
}

/** How a least-squares problem ended. */
export interface LeastSquaresColumn extends SolvedColumn {
  /** `norm(A^T r)` by `norm(A) norm(r)`, with an estimate of `norm(A)` that is never above it; 0 where r is 0. */
  readonly normal: number;
}

/** A solution of least squares, and how it was found. */
export interface LeastSquaresSolution<D extends OperatorDType> extends IterativeSolution<D> {
  readonly columns: readonly LeastSquaresColumn[];
}

/** A solution was asked for that was not reached. */
export class NotConvergedError extends SolverError {
  /** What was reached; the caller disposes its x. */
  readonly solution: IterativeSolution<OperatorDType>;

  constructor(what: string, solution: IterativeSolution<OperatorDType>) {
    const { iterations, residual } = solution;
    super(
      'NOT_CONVERGED',
      `${what}: after ${iterations} iterations the relative residual is ${residual}. Allow more with maxIterations, raise alpha or rtol, pass a preconditioner, or compute in float64; error.solution has what was reached.`,
    );
    this.name = 'NotConvergedError';
    this.solution = solution;
  }
}
