import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import {
  MercerError,
  type DeviceLike,
  type LoadOptions,
  type OutOption,
  type ShardOptions,
  type Tensor,
} from '@mercer/tensor';
import { LOAD_OPTIONS, OUT_OPTION, SHARD_OPTIONS } from '@mercer/tensor/operation';
import { valueInWords } from './value-in-words.js';

/**
 * Options of `cdist`; `out` has shape (..., M, N) and the inputs' dtype, and shares no memory with them. A tensor is on their device, or with
 * `devices` or `maxBytes` anywhere; elements in host memory and a file take the result block by block, see `cdist`.
 */
export interface CdistOptions<D extends PairwiseDType = PairwiseDType, O = Tensor<D>>
  extends Omit<OutOption<D>, 'out'>, LoadOptions, ShardOptions {
  /** Takes the result. */
  readonly out?: O | undefined;
  /** The norm: any p > 0, or Infinity for the largest difference. Default 2. */
  readonly p?: number | undefined;
  /** Leave out the final root: the result is sum |a - b|^p. Default false. */
  readonly skipEpilogue?: boolean | undefined;
  /** Where typed and nested arrays are placed, when neither input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** Names of the options of `cdist.prepare`. */
export const PREPARE_CDIST_OPTIONS: OptionNames<Omit<CdistOptions, 'device' | keyof ShardOptions>> =
  {
    ...OUT_OPTION,
    p: true,
    skipEpilogue: true,
    ...LOAD_OPTIONS,
  };

/** Names of {@link CdistOptions}. */
export const CDIST_OPTIONS: OptionNames<CdistOptions> = {
  ...PREPARE_CDIST_OPTIONS,
  ...SHARD_OPTIONS,
  device: true,
};

/**
 * Checks p.
 *
 * @throws MercerError INVALID_ARGUMENT for NaN, zero and negative values
 */
export function checkNorm(what: string, p: number): void {
  if (typeof p === 'number' && p > 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: p is ${valueInWords(p)}, and a p-norm needs a number above 0. Pass a positive number, or Infinity for the largest difference.`,
  );
}
