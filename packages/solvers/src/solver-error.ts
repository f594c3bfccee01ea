import { MercerError } from '@mercer/options';

/** What went wrong with a solve. What tensors and operations refuse has codes of `MercerError` itself. */
export type SolverErrorCode =
  /** `p . A p` is not positive for a direction p, so that the operator is not positive definite. */
  | 'INDEFINITE'
  /** `r . P r` is not positive for a residual r, so that the preconditioner P is not positive definite. */
  | 'BAD_PRECONDITIONER'
  /** The right-hand side, the operator or the preconditioner gave NaN or infinity. */
  | 'NOT_FINITE'
  /** The operator is not symmetric. */
  | 'ASYMMETRIC'
  /** A solution was asked for that was not reached. */
  | 'NOT_CONVERGED';

/**
 * The `MercerError` of solvers. `message` says what failed, why, and how to fix it.
 *
 * @example
 * ```ts
 * import { cg, denseOperator, SolverError } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * try {
 *   await cg(denseOperator(await tensor([[1, 0], [0, -1]], where)), await tensor([1, 2], where));
 * } catch (error) {
 *   if (!(error instanceof SolverError)) throw error;
 *   console.log(error.code); // INDEFINITE
 * }
 * ```
 */
export class SolverError extends MercerError {
  declare readonly code: SolverErrorCode;

  constructor(code: SolverErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'SolverError';
  }
}
