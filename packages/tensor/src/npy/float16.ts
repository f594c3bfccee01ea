/**
 * Conversions between IEEE 754 binary16 bits and float32, both directions rounding to nearest, ties to even.
 * JavaScript of Node 20 has no Float16Array, so a float16 array travels as its bits in a Uint16Array.
 */

const floatView = new Float32Array(1);
const bitsView = new Uint32Array(floatView.buffer);

/** The value of one binary16 bit pattern. Exact: every float16 is a float32. */
export function float16BitsToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The binary16 bit pattern nearest to a number (through float32; NaN becomes the quiet NaN 0x7e00 with its sign). */
export function numberToFloat16Bits(value: number): number {
  floatView[0] = value;
  const bits = bitsView[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // 65520 and above round to infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14: the result is a multiple of 2^-24; adding 0.5 makes the float32 adder round to one.
    floatView[0] = Math.abs(floatView[0]) + 0.5;
    return sign | ((bitsView[0] ?? 0) - 0x3f000000);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

/**
 * Float32 values of an array of binary16 bits.
 *
 * ```ts
 * import { float16ToFloat32, float32ToFloat16 } from '@mercer/tensor/npy';
 * const bits = float32ToFloat16(new Float32Array([1, -2.5, 65504]));
 * console.log(float16ToFloat32(bits)); // Float32Array(3) [ 1, -2.5, 65504 ]
 * ```
 */
export function float16ToFloat32(bits: Uint16Array): Float32Array {
  const out = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) out[i] = float16BitsToNumber(bits[i] ?? 0);
  return out;
}

/** Binary16 bits of an array of numbers, each rounded to nearest, ties to even. */
export function float32ToFloat16(values: Float32Array | readonly number[]): Uint16Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = numberToFloat16Bits(values[i] ?? 0);
  return out;
}
