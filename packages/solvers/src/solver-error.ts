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

/** Where a solve failed, and by which number: what its message says, for programs that say it in words of their own. */
export interface SolverFailure {
  /** The right-hand side, from 0; none where there is one for all. */
  readonly column?: number | undefined;
  /** The iteration, from 1, or 0 before the first; none where there are no iterations. */
  readonly iteration?: number | undefined;
  /** What is not positive: `p . A p` for a direction p of an operator, `r . P r` for a residual r and a preconditioner P. None of what is not finite. */
  readonly figure?: number | undefined;
}

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
  /** Where it failed, of what is found while it iterates. */
  readonly failure: SolverFailure | undefined;

  constructor(
    code: SolverErrorCode,
    message: string,
    { failure, ...options }: ErrorOptions & { readonly failure?: SolverFailure | undefined } = {},
  ) {
    super(code, message, options);
    this.name = 'SolverError';
    this.failure = failure;
  }
}
