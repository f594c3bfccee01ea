import { SolverError } from '../solver-error.js';

/** Where a column of a solve stands, as a number of the device: 0 goes on, what is below `FAILED` is a result, and the rest is thrown. */
export const Status = {
  running: 0,
  /** By the residual that the recurrence carries, until the true one is computed. */
  converged: 1,
  stagnated: 2,
  /** It has had all iterations. */
  limit: 3,
  indefinite: 4,
  badPreconditioner: 5,
  notFinite: 6,
} as const;

const FAILED = Status.indefinite;

/** Iterations between two true residuals, and without a fall of the least one until a column may be said to stagnate. */
export const CHECK_EVERY = 50;

/** What is read back of a solve, of each column. */
export interface ColumnReport {
  readonly status: number;
  readonly iterations: number;
  /** The norm of the residual. */
  readonly norm: number;
  /** What was not positive, of a column that failed. */
  readonly figure: number;
  /** The norm of the right-hand side. */
  readonly scale: number;
  /** What both norms were divided by. */
  readonly unit: number;
}

/** @throws SolverError for the first column that failed */
export function throwFailure(what: string, columns: readonly ColumnReport[]): void {
  const at = columns.findIndex(({ status }) => status >= FAILED);
  const column = columns[at];
  if (column === undefined) return;
  const { status, iterations, unit } = column;
  const own = column.figure * unit * unit;
  // beyond float64 in the units of the caller
  const figure = own === 0 || !Number.isFinite(own) ? column.figure : own;
  const failure = {
    column: at,
    iteration: iterations,
    figure: status === Status.notFinite ? undefined : figure,
  };
  const where = `of column ${at} at iteration ${iterations}`;
  if (status === Status.indefinite) {
    throw new SolverError(
      'INDEFINITE',
      `${what}: p . A p is ${figure} ${where}, so the operator is not positive definite, or too nearly singular for its dtype. Shift it with shift(), or compute in float64.`,
      { failure },
    );
  }
  if (status === Status.badPreconditioner) {
    throw new SolverError(
      'BAD_PRECONDITIONER',
      `${what}: r . P r is ${figure} ${where}, so the preconditioner is not positive definite. Pass one that is, or none.`,
      { failure },
    );
  }
  throw new SolverError(
    'NOT_FINITE',
    `${what}: ${iterations === 0 ? 'the right-hand side, x0, or the first product of the operator or the preconditioner' : 'a product of the operator or the preconditioner'} holds NaN or infinity, ${where}. Look for the operation that made it.`,
    { failure },
  );
}
