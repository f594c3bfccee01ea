import type { LoadOptions, Stream } from '@mercer/tensor';
import type { Enqueuing } from '@mercer/tensor/operation';
import type { RunOptions } from '../options.js';
import type { Setting } from '../checks.js';
import type { Arguments, Fields } from '../routine.js';

/** Where a call's work is enqueued, what ends it early, and how it loads kernels. */
export interface Within extends LoadOptions {
  readonly stream: Stream;
}

/** A routine's call on a GPU: what the call's tensors have in common, its arguments, and the stream that it goes to. */
export interface CudaCall<F extends Fields = Fields> extends Within {
  readonly setting: Setting;
  readonly args: Arguments<F>;
  readonly onProgress: RunOptions['onProgress'];
}

/** How a GPU computes a routine. */
export type CudaRoutine<F extends Fields = Fields> = (call: CudaCall<F>) => Enqueuing;
