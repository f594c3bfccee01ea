import type { OptionNames } from '@mercer/options';
import type { LoadOptions, Tensor, WorkOptions } from '@mercer/tensor';
import { LOAD_OPTIONS, WORK_OPTIONS } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import type { PreparedRoutine } from '../options.js';

/** Where gradients go, by the names of the inputs, or the first one. */
export type GradientTargets<W extends readonly string[]> =
  Tensor | { readonly [K in W[number]]?: Tensor | undefined };

/** Options of a backward rule. */
export interface BackwardOptions<W extends readonly string[] = readonly ['a']>
  extends WorkOptions, LoadOptions {
  readonly out?: GradientTargets<W> | undefined;
}

/** Names of {@link BackwardOptions}. */
export const BACKWARD_OPTIONS: OptionNames<BackwardOptions> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  out: true,
};

/** One gradient for each input that was asked for, of the input's shape. */
export type LinalgGradients<W extends readonly string[], D extends LinalgDType> = {
  readonly [K in W[number]]: Tensor<D>;
};

/** A prepared call of a backward rule. */
export type PreparedGradients<
  A extends readonly unknown[],
  W extends readonly string[],
  D extends LinalgDType,
> = PreparedRoutine<A, LinalgGradients<W, D>, GradientTargets<W>>;

/** The same of a rule whose library waits. */
export type LaterGradients<
  A extends readonly unknown[],
  W extends readonly string[],
  D extends LinalgDType,
> = PreparedRoutine<A, Promise<LinalgGradients<W, D>>, GradientTargets<W>>;

/** A tensor of the forward call of which only the shape is needed, so that its memory may be gone. */
export interface Shaped {
  readonly shape: readonly number[];
}
