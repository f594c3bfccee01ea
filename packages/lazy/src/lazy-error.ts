import { FormulaError, type Steps } from '@mercer/formula/plan';
import { PlanError } from '@mercer/kernels';
import { MercerError } from '@mercer/options';

/** What went wrong with a symbolic matrix. Shapes, dtypes and devices of tensors are codes of `MercerError` itself. */
export type LazyErrorCode =
  /** Dims that an operation cannot take together. */
  | 'DIM_MISMATCH'
  | 'INVALID_ARGUMENT'
  /** A placeholder that no call has bound. */
  | 'UNBOUND_VARIABLE'
  /** A text that is no formula. */
  | 'SYNTAX'
  /** A derivative that does not exist as a formula. */
  | 'NOT_DIFFERENTIABLE'
  /** There is no kernel for it. */
  | 'UNSUPPORTED'
  /** It is too large: the message names what was counted, the limit, and what to do. */
  | 'LIMIT';

/**
 * The `MercerError` of symbolic matrices. `message` says what failed, why, and how to fix it.
 *
 * @example
 * ```ts
 * import { LazyError, lazyI, lazyJ } from '@mercer/lazy';
 *
 * const [x, y] = [lazyI([[1, 2]], { name: 'x' }), lazyJ([[1, 2, 3]], { name: 'y' })];
 * try {
 *   x.sub(y);
 * } catch (error) {
 *   if (!(error instanceof LazyError)) throw error;
 *   console.log(error.code); // DIM_MISMATCH
 * }
 * ```
 */
export class LazyError extends MercerError {
  declare readonly code: LazyErrorCode;

  constructor(code: LazyErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'LazyError';
  }
}

const CODE_OF: { readonly [C in FormulaError['code']]: LazyErrorCode } = {
  ARITY_MISMATCH: 'INVALID_ARGUMENT',
  TYPE_MISMATCH: 'INVALID_ARGUMENT',
  INVALID_ARGUMENT: 'INVALID_ARGUMENT',
  INVALID_NAME: 'SYNTAX',
  UNBOUND_VARIABLE: 'UNBOUND_VARIABLE',
  DIM_MISMATCH: 'DIM_MISMATCH',
  NOT_DIFFERENTIABLE: 'NOT_DIFFERENTIABLE',
  LIMIT_EXCEEDED: 'LIMIT',
  SYNTAX: 'SYNTAX',
};

/**
 * Runs a step of the formula language or of a planner; what they refuse becomes a `LazyError` that names the operation and
 * what it was given. Any other error is a fault and passes through as it is.
 */
export function translated<T>(what: string, step: () => T, given?: () => string): T {
  try {
    return step();
  } catch (cause) {
    throw translation(what, cause, given);
  }
}

/** The same for work in steps. */
export function* translatedSteps<T>(what: string, steps: Steps<T>): Steps<T> {
  try {
    return yield* steps;
  } catch (cause) {
    throw translation(what, cause);
  }
}

/** A refusal of the formula language or of a planner as a `LazyError`; any other error as it is. */
export function translation(what: string, cause: unknown, given: () => string = () => ''): unknown {
  const isFormulas = cause instanceof FormulaError;
  if (!isFormulas && !(cause instanceof PlanError)) return cause;
  const code = isFormulas ? CODE_OF[cause.code] : cause.code;
  return new LazyError(code, `${what}: ${cause.message}${given()}`, { cause });
}
