import type { MapReduceProblem } from '@mercer/kernels';
import { optionReader, type OptionNames } from '@mercer/options';
import type { DeviceLike, LoadOptions, StreamOption } from '@mercer/tensor';
import { LOAD_OPTIONS } from '@mercer/tensor/operation';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import type { RangesOption } from './ranges-option.js';
import type { DenseOptions, IndexDType, IndexOption, ReduceOptions } from './reduction-types.js';

/**
 * Options of a call as the methods read them: own properties only, unknown names refused.
 *
 * @throws LazyError INVALID_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new LazyError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);

/** How the terms of Sum, Mean, LogSumExp and SumSoftMaxWeight are added up. */
export interface SumOptions {
  /** What sums are held in: float64 for float32 data, or the data type, which is the default. */
  readonly accumulate?: LazyDType | undefined;
  /** 'block' (default): sums of short blocks; 'direct': term by term; 'kahan': term by term with what each addition lost. */
  readonly sumScheme?: MapReduceProblem['sumScheme'] | undefined;
}

/** Options of a call that say nothing about what is computed. */
export interface CallOptions extends StreamOption, SumOptions, IndexOption, LoadOptions {
  /** Where host data is placed when no input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** What host data is converted to when no input has a dtype of its own. Default: float32. */
  readonly dtype?: LazyDType | undefined;
  /** Which rows of i meet which rows of j; without it all. */
  readonly ranges?: RangesOption | undefined;
}

/** Options of a preparation. */
export interface PrepareOptions<I extends IndexDType = IndexDType>
  extends SumOptions, IndexOption<I>, LoadOptions {
  /**
   * Block-sparse, as of a call. They are checked once and kept on the device until the prepared call is disposed or collected, and
   * fix the numbers of rows of both sides; the batch stays free.
   */
  readonly ranges?: RangesOption | undefined;
}

/** Options of a call of a prepared reduction. */
export type PreparedOptions<R> = Pick<ReduceOptions<R>, 'out' | 'stream'>;

/** Options of calls that compute whole matrices. */
export const DENSE_OPTIONS: OptionNames<DenseOptions> = {
  out: true,
  stream: true,
  device: true,
  dtype: true,
  accumulate: true,
  sumScheme: true,
  ...LOAD_OPTIONS,
};

/** Options of calls of reductions that give no row numbers. */
export const REDUCE_OPTIONS: OptionNames<ReduceOptions> = { ...DENSE_OPTIONS, ranges: true };

/** Options of calls of reductions. */
export const CALL_OPTIONS: OptionNames<ReduceOptions & IndexOption> = {
  ...REDUCE_OPTIONS,
  indexDtype: true,
};

/** Options of preparations. */
export const PREPARE_OPTIONS: OptionNames<PrepareOptions> = {
  ranges: true,
  accumulate: true,
  sumScheme: true,
  indexDtype: true,
  ...LOAD_OPTIONS,
};

/** Options of prepared calls. */
export const PREPARED_OPTIONS: OptionNames<PreparedOptions<unknown>> = { out: true, stream: true };
