import type { PairwiseDType } from '@mercer/kernels';
import { MercerError, type Device } from '@mercer/tensor';

/** What every prepared call is bound to. */
export interface PreparedFor {
  readonly dtype: PairwiseDType;
  readonly device: Device;
}

/**
 * Checks a call against what it was prepared for.
 *
 * @throws MercerError DTYPE_MISMATCH or DEVICE_MISMATCH
 */
export function checkPreparedFor(what: string, call: PreparedFor, fixed: PreparedFor): void {
  if (call.dtype !== fixed.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: prepared for ${fixed.dtype}, called with ${call.dtype}. Prepare another for ${call.dtype}.`,
    );
  }
  if (call.device !== fixed.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: prepared on ${fixed.device.id}, called with tensors on ${call.device.id}. Prepare another there.`,
    );
  }
}
