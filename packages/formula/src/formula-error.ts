import { MercerError } from '@mercer/options';

/** What went wrong in building, evaluating or differentiating an expression. */
export type FormulaErrorCode =
  | 'ARITY_MISMATCH'
  | 'TYPE_MISMATCH'
  | 'INVALID_ARGUMENT'
  | 'INVALID_NAME'
  | 'UNBOUND_VARIABLE'
  | 'DIM_MISMATCH'
  | 'NOT_DIFFERENTIABLE'
  | 'LIMIT_EXCEEDED'
  | 'SYNTAX';

/** An error of the formula language; the message says what failed, why, and how to fix it. */
export class FormulaError extends MercerError {
  declare readonly code: FormulaErrorCode;

  constructor(code: FormulaErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'FormulaError';
  }
}
