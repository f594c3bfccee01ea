import type { Stream } from '@mercer/tensor';
import type { Setting } from '../checks.js';
import type { Arguments, Fields } from '../routine.js';

/** A routine's call on a GPU: what the call's tensors have in common, its arguments, and the stream that it goes to. */
export interface CudaCall<F extends Fields = Fields> {
  readonly setting: Setting;
  readonly args: Arguments<F>;
  readonly stream: Stream;
}

/** How a GPU computes a routine. Resolves when the work is enqueued. */
export type CudaRoutine<F extends Fields = Fields> = (call: CudaCall<F>) => Promise<void>;
