import type { Stream, WorkOptions } from '@mercer/tensor';
import type { RunOptions } from '../options.js';
import type { Setting } from '../checks.js';
import type { Arguments, Fields } from '../routine.js';

/** Where a call's work is enqueued, and what ends it early. */
export interface Within extends WorkOptions {
  readonly stream: Stream;
}

/** A routine's call on a GPU: what the call's tensors have in common, its arguments, and the stream that it goes to. */
export interface CudaCall<F extends Fields = Fields> extends Within {
  readonly setting: Setting;
  readonly args: Arguments<F>;
  readonly onProgress: RunOptions['onProgress'];
}

/** How a GPU computes a routine. Resolves when the work is enqueued. */
export type CudaRoutine<F extends Fields = Fields> = (call: CudaCall<F>) => Promise<void>;
