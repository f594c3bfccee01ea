import type { PairwiseDType } from '../pairwise/problem.js';
import { shortestFloat32 } from './cpu-literal.js';

/** The CUDA C++ type of a dtype that kernels compute in. */
export function cudaType(dtype: PairwiseDType): 'float' | 'double' {
  return dtype === 'float32' ? 'float' : 'double';
}

/** A literal of the data type: rounded to float32 where it is float32, never of a wider type. */
export function cudaLiteral(value: number, dtype: PairwiseDType): string {
  const isFloat = dtype === 'float32';
  if (Number.isNaN(value)) {
    return isFloat ? '__int_as_float(0x7fffffff)' : '__longlong_as_double(0x7fffffffffffffffll)';
  }
  const rounded = isFloat ? Math.fround(value) : value;
  if (!Number.isFinite(rounded)) {
    const infinity = isFloat
      ? '__int_as_float(0x7f800000)'
      : '__longlong_as_double(0x7ff0000000000000ll)';
    return rounded > 0 ? infinity : `(-${infinity})`;
  }
  const decimal = isFloat ? shortestFloat32(rounded, 6) : String(rounded);
  const digits = Object.is(rounded, -0) ? '-0.0' : /[.e]/.test(decimal) ? decimal : `${decimal}.0`;
  const text = isFloat ? `${digits}f` : digits;
  return digits.startsWith('-') ? `(${text})` : text;
}
