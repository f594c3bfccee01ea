import type { LoadOptions } from '@mercer/tensor';
import type { RangesOption } from './range-tensors.js';
import type { IndexDType, IndexOption, ReduceOptions } from './reduction-types.js';
import type { SumOptions } from './sum-options.js';

/** Options of a call of a prepared reduction. */
export type PreparedOptions<R> = Pick<ReduceOptions<R>, 'out' | 'stream'>;

/** Options of a preparation. */
export interface PrepareOptions<I extends IndexDType = IndexDType>
  extends SumOptions, IndexOption<I>, LoadOptions {
  /**
   * Block-sparse, as of a call. They are checked once and kept on the device until the prepared call is disposed or collected, and
   * fix the numbers of rows of both sides; the batch stays free.
   */
  readonly ranges?: RangesOption | undefined;
}
