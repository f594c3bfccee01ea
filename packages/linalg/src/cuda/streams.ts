import { cublas, cusolver, type CudaStream } from '@mercer/cuda-runtime';
import type { Device, Stream } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import type { Enqueuing } from '@mercer/tensor/operation';

const preparing = new WeakMap<CudaStream, Promise<void>>();
const ready = new WeakSet<CudaStream>();

/**
 * Makes a stream's handles of cuSOLVER and cuBLAS, once, on its own thread: made on first use they would wait for the device.
 *
 * @throws LibraryNotFoundError
 */
export async function prepareStream(stream: Stream): Promise<void> {
  const native = nativeStream(stream);
  let handles = preparing.get(native);
  if (handles === undefined) {
    handles = prepare(native);
    preparing.set(native, handles);
    handles.catch(() => preparing.delete(native));
  }
  await handles;
  ready.add(native);
}

/** Waits for a stream's handles where it has none yet. */
export function* prepared(stream: Stream): Enqueuing {
  if (ready.has(nativeStream(stream))) return;
  yield { until: () => prepareStream(stream), isOptional: true };
}

async function prepare(native: CudaStream): Promise<void> {
  await cusolver.prepare(native);
  if (cublas.isAvailable()) await cublas.prepare(native);
}

const pools = new WeakMap<Device, Stream[]>();

/** Streams of this package beside the callers', with their handles; a device keeps them. */
export function* solverStreams(device: Device, count: number): Enqueuing<readonly Stream[]> {
  const pool = pools.get(device) ?? [];
  pools.set(device, pool);
  while (pool.length < count) pool.push(device.createStream());
  const streams = pool.slice(0, count);
  if (streams.every((stream) => ready.has(nativeStream(stream)))) return streams;
  yield { until: () => Promise.all(streams.map(prepareStream)), isOptional: true };
  return streams;
}
