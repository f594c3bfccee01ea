import type { DType } from '@mercer/kernels';
import { valueOf16, type Value } from './cast-oracle.test-support.js';
import { randomBits } from './random.test-support.js';

/** Stored elements of one dtype with the values they stand for. */
export interface Samples {
  readonly raw: Float64Array | Float32Array | Uint16Array | BigInt64Array | Int32Array | Uint8Array;
  readonly values: readonly Value[];
}

const LIMITS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  254.5,
  255,
  255.5,
  256,
  -0.1,
  65504,
  65519.99,
  65520,
  65536,
  1e-8,
  2 ** -24,
  2 ** -25,
  2 ** -25 * 1.0000001,
  2 ** -14,
  2 ** -14 * 0.999,
  5e-324,
  2 ** -126,
  2 ** -133,
  2 ** -134,
  2 ** -149,
  3.4e38,
  3.3961775292304601e38,
  3.4028235677973366e38,
  1e39,
  1e308,
  NaN,
  Infinity,
  -Infinity,
  2 ** 31,
  2 ** 31 - 1,
  -(2 ** 31),
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  2 ** 64,
  9.3e18,
  1 + 2 ** -8,
  1 + 2 ** -8 + 2 ** -40,
  1 + 2 ** -11,
  1 + 2 ** -11 + 2 ** -50,
  1 + 3 * 2 ** -11 - 2 ** -50,
  2049,
  2050.999999999,
  4097.0000001,
];

function doubles(count: number, bits: () => number): number[] {
  const words = new Uint32Array(2 * count).map(bits);
  const random = new Float64Array(words.buffer);
  // Exponents near the formats' ranges, where rounding shows; the raw patterns alone are mostly huge or tiny.
  const near = Array.from({ length: count }, () => {
    const sign = bits() & 1 ? -1 : 1;
    return sign * (1 + bits() / 2 ** 32 + bits() / 2 ** 64) * 2 ** ((bits() % 90) - 45);
  });
  return [...LIMITS, ...LIMITS.map((x) => -x), ...random, ...near];
}

const INTEGERS = [
  0n,
  1n,
  -1n,
  127n,
  128n,
  255n,
  256n,
  257n,
  -255n,
  2049n,
  65519n,
  65520n,
  65521n,
  2n ** 24n + 1n,
  2n ** 24n + 3n,
  2n ** 31n - 1n,
  -(2n ** 31n),
  2n ** 31n,
  2n ** 32n + 5n,
  2n ** 53n + 1n,
  2n ** 54n + 2n ** 30n + 1n,
  2n ** 62n + 2n ** 54n,
  2n ** 62n + 2n ** 54n + 1n,
  2n ** 62n + 2n ** 38n,
  2n ** 62n + 2n ** 38n + 1n,
  2n ** 62n + 2n ** 38n - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  3n * 2n ** 54n + 2n ** 47n,
  3n * 2n ** 54n + 2n ** 47n + 1n,
];

function integers(count: number, bits: () => number): bigint[] {
  const random = Array.from({ length: count }, () => {
    const wide = (BigInt(bits()) << 32n) | BigInt(bits());
    return BigInt.asIntN(64, wide) >> BigInt(bits() % 64);
  });
  return [...INTEGERS, ...INTEGERS.map((x) => BigInt.asIntN(64, -x)), ...random];
}

function all16(dtype: 'float16' | 'bfloat16'): Samples {
  const raw = Uint16Array.from({ length: 65536 }, (_, i) => i);
  return { raw, values: Array.from(raw, (pattern) => valueOf16(pattern, dtype)) };
}

/** Special values, all patterns of the 16-bit and 8-bit dtypes, and random ones. */
export function castSamples(dtype: DType, count = 1500): Samples {
  const bits = randomBits(dtype.length * 7919);
  switch (dtype) {
    case 'float64': {
      const raw = Float64Array.from(doubles(count, bits));
      return { raw, values: [...raw] };
    }
    case 'float32': {
      const raw = Float32Array.from([
        ...doubles(count, bits),
        ...new Float32Array(new Uint32Array(count).map(bits).buffer),
      ]);
      return { raw, values: [...raw] };
    }
    case 'float16':
    case 'bfloat16':
      return all16(dtype);
    case 'int64': {
      const values = integers(count, bits);
      return { raw: BigInt64Array.from(values), values };
    }
    case 'int32': {
      const raw = Int32Array.from(integers(count, bits), (x) => Number(BigInt.asIntN(32, x)));
      return { raw, values: Array.from(raw, BigInt) };
    }
    case 'uint8': {
      const raw = Uint8Array.from({ length: 256 }, (_, i) => i);
      return { raw, values: Array.from(raw, BigInt) };
    }
    case 'bool': {
      const raw = Uint8Array.from({ length: 64 }, () => bits() & 1);
      return { raw, values: Array.from(raw, BigInt) };
    }
  }
}
