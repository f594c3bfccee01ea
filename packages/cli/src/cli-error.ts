import { MercerError } from '@mercer/options';

/** A failure that the command line explains by itself; `exitCode` is 2 for wrong usage, 1 for everything else. */
export class CliError extends MercerError {
  override readonly name = 'CliError';
  readonly exitCode: 1 | 2;

  constructor(code: string, message: string, options: ErrorOptions & { exitCode?: 1 | 2 } = {}) {
    super(code, message, options);
    this.exitCode = options.exitCode ?? 1;
  }
}

/** A usage error: exit status 2. */
export function usageError(message: string): CliError {
  return new CliError('USAGE', message, { exitCode: 2 });
}
