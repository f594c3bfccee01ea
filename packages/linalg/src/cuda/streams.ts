import { cublas, cusolver, type CudaStream } from '@mercer/cuda-runtime';
import type { Device, Stream } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';

const ready = new WeakMap<CudaStream, Promise<void>>();

/**
 * Makes a stream's handles of cuSOLVER and cuBLAS, once, on its own thread: made on first use they would wait for the device.
 *
 * @throws LibraryNotFoundError
 */
export function prepared(stream: Stream): Promise<void> {
  const native = nativeStream(stream);
  let preparing = ready.get(native);
  if (preparing === undefined) {
    preparing = prepare(native);
    ready.set(native, preparing);
    preparing.catch(() => ready.delete(native));
  }
  return preparing;
}

async function prepare(native: CudaStream): Promise<void> {
  await cusolver.prepare(native);
  if (cublas.isAvailable()) await cublas.prepare(native);
}

const pools = new WeakMap<Device, Stream[]>();

/** Streams of this package beside the callers', with their handles; a device keeps them. */
export async function solverStreams(device: Device, count: number): Promise<readonly Stream[]> {
  const pool = pools.get(device) ?? [];
  pools.set(device, pool);
  while (pool.length < count) pool.push(device.createStream());
  const streams = pool.slice(0, count);
  await Promise.all(streams.map(prepared));
  return streams;
}
