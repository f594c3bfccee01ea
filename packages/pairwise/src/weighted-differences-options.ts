import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import {
  isTensor,
  MercerError,
  type DeviceLike,
  type LoadOptions,
  type OutOption,
} from '@mercer/tensor';
import { LOAD_OPTIONS, OUT_OPTION } from '@mercer/tensor/operation';
import type { ParameterValue } from './run-kernel-options.js';
import { valueInWords } from './value-in-words.js';

/** Options of `weightedDifferences`; `out` has shape (..., O, N, M), the inputs' dtype and device, and shares no memory with them. */
export interface WeightedDifferencesOptions<D extends PairwiseDType = PairwiseDType>
  extends OutOption<D>, LoadOptions {
  /**
   * The norm: a finite p > 0, or a tensor of the data's dtype and device with one value or one per batch entry, which the
   * kernel reads and nothing waits for (there nobody checks that it is above 0). Default 2.
   */
  readonly p?: ParameterValue<D> | undefined;
  /** Where typed and nested arrays are placed, when no input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** Names of the options of `weightedDifferences.prepare`. */
export const PREPARE_GRAD_OPTIONS: OptionNames<Omit<WeightedDifferencesOptions, 'device'>> = {
  ...OUT_OPTION,
  p: true,
  ...LOAD_OPTIONS,
};

/** Names of {@link WeightedDifferencesOptions}. */
export const WEIGHTED_DIFFERENCES_OPTIONS: OptionNames<WeightedDifferencesOptions> = {
  ...PREPARE_GRAD_OPTIONS,
  device: true,
};

/** Name of the operation in messages. */
export const WHAT = 'weightedDifferences';

/**
 * Checks p, as far as the host knows it.
 *
 * @throws MercerError INVALID_ARGUMENT for NaN, infinite, zero and negative values
 */
export function checkGradNorm(p: ParameterValue): void {
  if (isTensor(p) || (typeof p === 'number' && p > 0 && p < Infinity)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: p is ${valueInWords(p)}, and |d|^(p - 1) is summed for a finite p > 0. Pass a positive number, or a tensor of such.`,
  );
}
