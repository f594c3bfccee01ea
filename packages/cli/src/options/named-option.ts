import { formula, LazyError, MercerError } from '@mercer/core';
import { CliError } from '../cli-error.js';

/** What a library error becomes when it is caused by an option: `exitCode` 2 for texts, 1 for data. */
interface OptionError {
  /** The option as it was written, such as `--axis 2`. */
  readonly option: string;
  readonly exitCode: 1 | 2;
}

/** Runs a step; an error of the library names the option that it comes from. */
export function namingOption<T>(option: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw named(error, { option, exitCode: 2 });
  }
}

/** The same for a computation with the data of an option. */
export async function namingOptionLater<T>(option: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw named(error, { option, exitCode: 1 });
  }
}

function named(error: unknown, { option, exitCode }: OptionError): unknown {
  const isOurs =
    error instanceof formula.FormulaError ||
    error instanceof LazyError ||
    error instanceof MercerError;
  if (!isOurs || error instanceof CliError) return error;
  const text = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  return new CliError(error.code, `${option}: ${text}`, { exitCode });
}
