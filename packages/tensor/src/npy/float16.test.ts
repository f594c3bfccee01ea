import { describe, expect, it } from 'vitest';
import {
  float16BitsToNumber,
  float16ToFloat32,
  float32ToFloat16,
  numberToFloat16Bits,
} from './float16.js';

/** Nearest float16 by search over all finite patterns, ties to the even pattern: slow and obvious. */
const finite = Array.from({ length: 0x7c00 }, (_, bits) => float16BitsToNumber(bits));
function nearest(value: number): number {
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  const x = Math.abs(value);
  if (x >= 65520) return sign | 0x7c00;
  let low = 0;
  let high = finite.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((finite[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  const below = x - (finite[low] ?? 0);
  const above = (finite[high] ?? 0) - x;
  if (below === above) return sign | (low % 2 === 0 ? low : high);
  return sign | (below < above ? low : high);
}

describe('float16', () => {
  it('round-trips every bit pattern that is no NaN', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = float16BitsToNumber(bits);
      if (Number.isNaN(value)) expect(bits & 0x7c00).toBe(0x7c00);
      else if (numberToFloat16Bits(value) !== bits) expect.fail(`pattern ${bits}`);
    }
  });

  it('rounds to nearest, ties to even, at every boundary between neighbours', () => {
    const wrong: string[] = [];
    for (let bits = 0; bits < 0x7bff; bits++) {
      const [a = 0, b = 0] = [finite[bits], finite[bits + 1]];
      const tie = (a + b) / 2;
      const step = Math.max(tie * 2 ** -20, 2 ** -40);
      for (const value of [tie, tie - step, tie + step, -tie]) {
        if (numberToFloat16Bits(value) !== nearest(Math.fround(value))) {
          wrong.push(`${value} after pattern ${bits}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('keeps infinities, signed zero and NaN', () => {
    const bits = float32ToFloat16([Infinity, -Infinity, 0, -0, NaN, 65519, 65520, 1e-9]);
    expect([...bits]).toEqual([0x7c00, 0xfc00, 0, 0x8000, 0x7e00, 0x7bff, 0x7c00, 0]);
    expect([...float16ToFloat32(bits)]).toEqual([
      Infinity,
      -Infinity,
      0,
      -0,
      NaN,
      65504,
      Infinity,
      0,
    ]);
  });
});
