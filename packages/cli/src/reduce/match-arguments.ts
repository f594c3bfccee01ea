import { usageError } from '../cli-error.js';
import type { Assignment } from '../options/parse-assignment.js';
import { parseValue, type ParameterText } from '../options/parse-value.js';
import type { TextReduction } from './describe-reduction.js';

/** An input of a reduction and what the command line gives for it. */
export type Argument = RowsArgument | ParameterArgument;

interface CommonArgument {
  /** As an alias declares it, such as `x = Vi(3)`. */
  readonly declared: string;
  readonly dim: number;
  /** The option as it was written. */
  readonly option: string;
}

interface RowsArgument extends CommonArgument {
  readonly category: 'i' | 'j';
  readonly file: string;
}

interface ParameterArgument extends CommonArgument {
  readonly category: 'parameter';
  readonly value: ParameterText;
}

/** Whether an argument is a file of rows. */
export const isRows = (one: Argument): one is RowsArgument => one.category !== 'parameter';

const KIND = { i: 'Vi', j: 'Vj', pair: 'Vij', parameter: 'Pm' } as const;

/**
 * The arguments in the order of the inputs. An input without an alias goes by its position.
 *
 * @throws CliError for a missing, unknown or unreadable `--arg`
 */
export function matchArguments(
  { reduction }: TextReduction,
  given: readonly Assignment[],
): readonly Argument[] {
  const inputs = reduction.inputs.map(({ name = '', category, dim }, position) => {
    const own = name === '' ? String(position) : name;
    return { name: own, category, dim, declared: `${own} = ${KIND[category]}(${dim})` };
  });
  const stranger = given.find((one) => inputs.every(({ name }) => name !== one.name));
  if (stranger !== undefined) {
    const known = inputs.map(({ declared }) => declared).join(', ');
    throw usageError(
      `--arg ${stranger.name}=${stranger.value}: the formula has no input '${stranger.name}'. Its inputs are ${known}.`,
    );
  }
  return inputs.map(({ name, category, dim, declared }): Argument => {
    const value = given.find((one) => one.name === name)?.value;
    if (value === undefined) {
      throw usageError(
        `--arg ${name} is missing: the input ${declared} has no data. Add --arg ${name}=${name}.npy.`,
      );
    }
    const option = `--arg ${name}=${value}`;
    if (category === 'pair') {
      throw usageError(
        `${option}: the input ${declared} has values of pairs, which the command does not read. Call genred of @mercer/lazy.`,
      );
    }
    if (category !== 'parameter') return { declared, dim, option, category, file: value };
    try {
      return { declared, dim, option, category, value: parseValue(value) };
    } catch (error) {
      throw usageError(`${option}: ${error instanceof Error ? error.message : String(error)}.`);
    }
  });
}
