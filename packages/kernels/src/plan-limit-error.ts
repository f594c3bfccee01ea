import { MercerError } from '@mercer/options';

/** What a limit of a plan stops. */
export interface ExceededLimit {
  /** Whether the limit is that of a text for a compiler, which the interpreter does not have. */
  readonly ofText: boolean;
}

/** The error for a formula that is too large for a plan; the message says what was counted, the limit, and what to do. */
export class PlanLimitError extends MercerError {
  override readonly name = 'PlanLimitError';
  declare readonly code: 'LIMIT';
  readonly ofText: boolean;

  constructor(message: string, { ofText }: ExceededLimit) {
    super('LIMIT', message);
    this.ofText = ofText;
  }
}

/** Whether a plan was refused because its text would be too long for a compiler. */
export function isBeyondCompiler(error: unknown): boolean {
  return error instanceof PlanLimitError && error.ofText;
}
