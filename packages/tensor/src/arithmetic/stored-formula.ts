import { abs, call, gt, lt, max, min, ne, select, type RealExpr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import type { Chain } from './chain.js';

/** The ends of whole numbers; those of int64 as float64 has them. */
const ENDS = {
  uint8: [0, 2 ** 8 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
} as const;

/**
 * What a value is once it is stored in a dtype and read again: truncated, at most at the dtype's ends, and 0 for NaN; so that a chain in one
 * kernel has the bits of its operations one by one.
 *
 * @param dtype one that {@link canStayUnstored} allows
 */
export function storedFormula(value: RealExpr, dtype: DType): RealExpr {
  if (dtype === 'bool') return select(ne(value, 0), 1, 0);
  if (dtype !== 'uint8' && dtype !== 'int32' && dtype !== 'int64') return value;
  const [least, most] = ENDS[dtype];
  const inside = min(max(value, least), most);
  const whole = select(lt(inside, 0), call('ceil', [inside], []), call('floor', [inside], []));
  // neither NaN nor -0 is a whole number
  return select(gt(abs(whole), 0), whole, 0);
}

/** Whether {@link storedFormula} can say what a result would be if it were stored: a formula does not round to other floats. */
export const canStayUnstored = ({
  dtype,
  computesIn,
}: Pick<Chain, 'dtype' | 'computesIn'>): boolean =>
  dtype !== 'float16' && dtype !== 'bfloat16' && !(dtype === 'float32' && computesIn === 'float64');
