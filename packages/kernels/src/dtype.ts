import { describeValue } from '@mercer/options';
import { PlanError } from './plan-error.js';

/** Element types of tensors. */
export type DType =
  'float64' | 'float32' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'uint8' | 'bool';

const BYTES: { readonly [D in DType]: number } = {
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int64: 8,
  int32: 4,
  uint8: 1,
  bool: 1,
};

/** Every dtype, largest floating point first. */
export const DTYPES = Object.freeze(Object.keys(BYTES)) as readonly DType[];

/**
 * Bytes of one element.
 *
 * ```ts
 * import { dtypeBytes } from '@mercer/kernels';
 * console.log(dtypeBytes('bfloat16')); // 2
 * ```
 */
export function dtypeBytes(dtype: DType): number {
  if (isDType(dtype)) return BYTES[dtype];
  throw new PlanError(
    'INVALID_ARGUMENT',
    `dtypeBytes: ${describeValue(dtype)} is no dtype. Use one of ${DTYPES.join(', ')}.`,
  );
}

/** Whether `value` names a dtype. */
export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && Object.hasOwn(BYTES, value);
}

/** Whether elements of `dtype` are floating-point numbers. */
export function isFloating(dtype: DType): boolean {
  return dtype.startsWith('float') || dtype === 'bfloat16';
}

/** Element types that pairwise kernels compute in. */
export type PairwiseDType = 'float32' | 'float64';
