import { random } from '../testing/pairwise-check.test-support.js';
import type { HalfDType } from './launched-plan.js';

/** The bits of a finite number below 2 in size: mostly of [1, 2) in float16, of [2^-7, 2) in bfloat16; some subnormal. */
export const randomHalf = (): number =>
  (random() < 0.5 ? 0x8000 : 0) |
  (random() < 0.2 ? Math.floor(random() * 0x4000) : 0x3c00 | Math.floor(random() * 0x400));

/** What a 16-bit number of a type is: sign, exponent, fraction. */
export function halfValue(bits: number, dtype: HalfDType): number {
  const [fractionBits, bias] = dtype === 'float16' ? [10, 15] : [7, 127];
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits & 0x7fff) >> fractionBits;
  const fraction = (bits & ((1 << fractionBits) - 1)) / 2 ** fractionBits;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias);
  return sign * (1 + fraction) * 2 ** (exponent - bias);
}

const words = { float16: new Map<number, number>(), bfloat16: new Map<number, number>() };

/** The bits of a number that a 16-bit type has exactly. */
export function halfWord(value: number, dtype: HalfDType): number {
  const known = words[dtype];
  if (known.size === 0) {
    for (let bits = 0; bits < 0x7c00; bits++) known.set(halfValue(bits, dtype), bits);
  }
  const word = known.get(Math.abs(value));
  if (word === undefined) throw new RangeError(`${value} is no ${dtype}`);
  return word | (value < 0 ? 0x8000 : 0);
}
