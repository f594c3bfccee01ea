import { MercerError } from '@mercer/options';

/** Why a plan was refused. */
export type PlanErrorCode =
  /** The problem contradicts itself. */
  | 'INVALID_ARGUMENT'
  /** There is no kernel for it. */
  | 'UNSUPPORTED'
  /** It is too large: the message names what was counted, the limit, and what to do. */
  | 'LIMIT';

/** What a planner refuses. Any other error is a fault of the planner. */
export class PlanError extends MercerError {
  override readonly name = 'PlanError';
  declare readonly code: PlanErrorCode;
  /** Whether the limit is that of a text for a compiler, which the interpreter does not have. */
  readonly ofText: boolean;

  constructor(code: PlanErrorCode, message: string, { ofText = false } = {}) {
    super(code, message);
    this.ofText = ofText;
  }
}

/** Whether a plan was refused because its text would be too long for a compiler. */
export function isBeyondCompiler(error: unknown): boolean {
  return error instanceof PlanError && error.ofText;
}
