import type { PairwiseDType } from '../dtype.js';

/** A host C++ literal of the data type: rounded to float32 where it is float32. */
export function cpuLiteral(value: number, dtype: PairwiseDType): string {
  const isFloat = dtype === 'float32';
  const suffix = isFloat ? 'f' : '';
  if (Number.isNaN(value)) return `__builtin_nan${suffix}("")`;
  const rounded = isFloat ? Math.fround(value) : value;
  if (!Number.isFinite(rounded)) return `${rounded > 0 ? '' : '-'}__builtin_inf${suffix}()`;
  if (Object.is(rounded, -0)) return `-0.0${suffix}`;
  const digits = isFloat ? shortestFloat32(rounded, 1) : String(rounded);
  return `${/[.e]/.test(digits) ? digits : `${digits}.0`}${suffix}`;
}

/** The shortest decimal of at least so many digits, trailing zeros left out, that reads back as the same float32. */
function shortestFloat32(value: number, least: number): string {
  for (let digits = least; digits <= 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}

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
