import type { DType } from '@mercer/kernels';
import type { DeviceCore } from './device-core.js';
import { enqueueCopy, type ElementView } from './elementwise.js';
import { allocateView, filled } from './operations.js';
import type { StreamCore } from './stream-core.js';
import { wrap, type Tensor } from './tensor.js';

/** A result that a kernel writes row-major. */
export interface DenseResult<D extends DType> {
  readonly device: DeviceCore;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly stream: StreamCore;
  /** The caller's, checked; any strides. */
  readonly out: Tensor<D> | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Runs `write` on row-major memory and gives the tensor that holds the result: a new one, or the caller's. */
export async function denseResult<D extends DType>(
  { device, shape, dtype, stream, out, signal }: DenseResult<D>,
  write: (to: ElementView) => Promise<void>,
): Promise<Tensor<D>> {
  if (out?.isContiguous === true) {
    await write(out);
    return out;
  }
  const view = await filled(allocateView(device, shape, dtype, { stream }), write);
  if (out === undefined) return wrap(view, dtype);
  try {
    await enqueueCopy(device, out, view, stream, signal);
    return out;
  } finally {
    view.storage.dispose();
  }
}
