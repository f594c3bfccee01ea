import type { PairwiseDType } from '../pairwise/problem.js';

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
export function shortestFloat32(value: number, least: number): string {
  for (let digits = least; digits <= 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}
