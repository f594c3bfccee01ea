import { MercerError } from '@mercer/options';

/** What went wrong in training. What tensors and operations refuse has codes of `MercerError` itself. */
export type OptimErrorCode =
  /** A gradient, a loss or a factor has NaN or infinity, and the optimiser was asked to throw. */
  | 'NOT_FINITE'
  /** The state belongs to another optimiser, was saved with other options, or is of parameters of another shape. */
  | 'WRONG_STATE'
  /** What an optimiser needs beside the gradients was not passed. */
  | 'MISSING_STATISTICS'
  /** A file of a saved state is truncated, or not what it says. */
  | 'BAD_CHECKPOINT'
  /** A preconditioner could not be computed several times in a row. */
  | 'NO_PRECONDITIONER';

/** The `MercerError` of optimisers. `message` says what failed, why, and how to fix it. */
export class OptimError extends MercerError {
  declare readonly code: OptimErrorCode;

  constructor(code: OptimErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'OptimError';
  }
}
