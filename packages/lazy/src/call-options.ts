import { optionReader, type OptionNames } from '@mercer/options';
import type { LoadOptions } from '@mercer/tensor';
import { LOAD_OPTIONS, SHARD_OPTIONS } from '@mercer/tensor/operation';
import { LazyError } from './lazy-error.js';
import type { RangesOption } from './ranges-option.js';
import type {
  ComputeOptions,
  DenseOptions,
  IndexDType,
  IndexOption,
  OutDType,
  OutDTypeOption,
  ReduceOptions,
} from './reduction-types.js';

/**
 * Options of a call as the methods read them: own properties only, unknown names refused.
 *
 * @throws LazyError INVALID_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new LazyError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);

/** Options of a call that say nothing about what is computed, and not where its results go. */
export interface CallOptions extends Omit<ReduceOptions, 'out'>, IndexOption, OutDTypeOption {}

/** Options of a call. `out` is what the caller gave. */
export interface ReductionOptions extends CallOptions {
  readonly out?: unknown;
}

/** Options of a preparation. */
export interface PrepareOptions<I extends IndexDType = IndexDType, O extends OutDType = OutDType>
  extends ComputeOptions, IndexOption<I>, OutDTypeOption<O>, LoadOptions {
  /**
   * Block-sparse, as of a call. They are checked once and kept on the device until the prepared call is disposed or collected, and
   * fix the numbers of rows of both sides; the batch stays free.
   */
  readonly ranges?: RangesOption | undefined;
}

/** Options of a call of a prepared reduction. */
export type PreparedOptions<R> = Pick<ReduceOptions<R>, 'out' | 'stream'>;

/** Options of calls that compute whole matrices. */
export const DENSE_OPTIONS: OptionNames<DenseOptions & OutDTypeOption> = {
  out: true,
  stream: true,
  device: true,
  dtype: true,
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  outDtype: true,
  ...LOAD_OPTIONS,
};

/** Options of calls of reductions that give no row numbers. */
export const REDUCE_OPTIONS: OptionNames<ReduceOptions & OutDTypeOption> = {
  ...DENSE_OPTIONS,
  ranges: true,
  group: true,
  ...SHARD_OPTIONS,
};

/** Options of calls of reductions. */
export const CALL_OPTIONS: OptionNames<ReduceOptions & OutDTypeOption & IndexOption> = {
  ...REDUCE_OPTIONS,
  indexDtype: true,
};

/** Options of preparations. */
export const PREPARE_OPTIONS: OptionNames<PrepareOptions> = {
  ranges: true,
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  outDtype: true,
  indexDtype: true,
  ...LOAD_OPTIONS,
};

/** Options of prepared calls. */
export const PREPARED_OPTIONS: OptionNames<PreparedOptions<unknown>> = { out: true, stream: true };
