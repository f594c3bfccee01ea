import { isDType, type DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { MercerError } from './mercer-error.js';

/** @throws MercerError INVALID_ARGUMENT for anything but a dtype's name */
export function checkDType<D extends DType>(dtype: D, what: string): D {
  if (isDType(dtype)) return dtype;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(dtype)} is not a dtype. Use float64, float32, float16, bfloat16, int64, int32, uint8 or bool.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT for what is left of a tensor that was copied by JSON, or by another program's clone */
export function refuseDataless(value: unknown, what: string): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  try {
    if (!('dtype' in value && 'shape' in value) || 'data' in value || 'values' in value) return;
  } catch {
    return;
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: expected a tensor, got an object with a tensor's shape and dtype but no data, such as a copy of one by JSON. Send await t.toTypedArray() and t.shape, and make tensor(data, { shape }) of them.`,
  );
}
