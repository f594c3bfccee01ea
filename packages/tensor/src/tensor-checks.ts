import type { DType } from '@mercer/kernels';
import type { Device } from './device.js';
import { MercerError } from './mercer-error.js';
import { checkOutView } from './operations.js';
import type { MemoryView } from './overlap.js';
import { assertTensor, type Tensor } from './tensor.js';

/**
 * The device that all tensors of a call share.
 *
 * @throws MercerError DEVICE_MISMATCH naming the first two that differ
 */
export function commonDevice(tensors: readonly Tensor[], what: string): Device {
  const [first] = tensors;
  if (first === undefined) {
    throw new MercerError('INVALID_ARGUMENT', `${what}: no tensor given. Pass at least one.`);
  }
  for (const tensor of tensors) {
    if (tensor.device !== first.device) {
      throw new MercerError(
        'DEVICE_MISMATCH',
        `${what}: ${first.label} and ${tensor.label} are on different devices. Move one with to('${first.device.id}').`,
      );
    }
  }
  return first.device;
}

/**
 * Checks an output that a caller gave to an operation: a live tensor of the result's shape, dtype and device that shares
 * no memory with the inputs or with itself. Any strides will do, negative ones too.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED, INVALID_ARGUMENT
 */
export function checkOut(
  out: Tensor,
  expected: { readonly shape: readonly number[]; readonly dtype: DType; readonly device: Device },
  inputs: readonly MemoryView[],
  what: string,
): void {
  assertTensor(out, `${what}: out`);
  checkOutView(out, expected, inputs, what);
}
