import type { Enqueuing } from '@mercer/tensor/operation';
import type { Storage } from '@mercer/tensor';
import { assertNotPreparing, unlessAborted, waited } from '@mercer/tensor/operation';
import { nativeStream, regionOf } from '@mercer/tensor/cuda';
import type { CudaCall } from './cuda-call.js';

/** Reads a call's own memory, behind what its stream has to do; the event loop stays free. */
export function* readNumbers(
  { stream, signal, setting }: CudaCall,
  storage: Storage,
  dtype: 'int32' | 'float64',
): Enqueuing<Int32Array | Float64Array> {
  const numbers =
    dtype === 'int32' ? new Int32Array(storage.bytes / 4) : new Float64Array(storage.bytes / 8);
  assertNotPreparing(setting.what);
  signal?.throwIfAborted();
  if (numbers.length === 0) return numbers;
  yield* waited(() =>
    unlessAborted(nativeStream(stream).copyToHost(numbers, regionOf(storage).buffer), signal),
  );
  return numbers;
}
