import { describeValue } from '@mercer/options';
import { MercerError, type WorkOptions, type Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';

/** Options of a backward rule. */
export type BackwardOptions = WorkOptions;

/** Which gradients are wanted. */
export interface WrtOption<W extends readonly string[]> {
  /** Names of inputs; default: all. What is not wanted is not computed. */
  readonly wrt?: W | undefined;
}

/** One gradient for each input that was asked for, of the input's shape. */
export type LinalgGradients<W extends readonly string[], D extends LinalgDType> = {
  readonly [K in W[number]]: Tensor<D>;
};

/** A tensor of the forward call of which only the shape is needed, so that its memory may be gone. */
export interface Shaped {
  readonly shape: readonly number[];
}

/**
 * The wanted names as a set.
 *
 * @throws MercerError INVALID_ARGUMENT for a name that is none of the inputs
 */
export function wantedOf(
  what: string,
  { wrt }: WrtOption<readonly string[]>,
  inputs: readonly string[],
): ReadonlySet<string> {
  const given: unknown = wrt;
  if (given !== undefined && !Array.isArray(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: wrt is ${describeValue(given)}. Pass a list of names, of ${inputs.join(', ')}.`,
    );
  }
  const wanted = wrt ?? inputs;
  const strangers = wanted.filter((name) => !inputs.includes(name));
  if (strangers.length === 0) return new Set(wanted);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: wrt names ${strangers.map(describeValue).join(', ')}, and the inputs are ${inputs.join(', ')}. Use some of these.`,
  );
}
