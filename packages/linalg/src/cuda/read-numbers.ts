import type { Storage, Stream } from '@mercer/tensor';
import { nativeStream, regionOf } from '@mercer/tensor/cuda';

/** Reads a call's own memory, behind what its stream has to do; the event loop stays free. */
export async function readNumbers(
  stream: Stream,
  storage: Storage,
  dtype: 'int32' | 'float64',
): Promise<Int32Array | Float64Array> {
  const numbers =
    dtype === 'int32' ? new Int32Array(storage.bytes / 4) : new Float64Array(storage.bytes / 8);
  if (numbers.length > 0) await nativeStream(stream).copyToHost(numbers, regionOf(storage).buffer);
  return numbers;
}
