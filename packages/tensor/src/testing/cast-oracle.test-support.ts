import type { DType } from '@mercer/kernels';

/*
 * What a cast must give, by definition instead of by bit tricks: the nearest value is looked up in the sorted list of all
 * values, with JavaScript's exact comparison of numbers and bigints. Shares no code with the package.
 */

export type Value = number | bigint;

interface Format {
  /** Finite values from 0 upwards; then the value that would follow, which stands for infinity. */
  readonly values: readonly number[];
  readonly infinity: number;
}

function format(exponentBits: number, fractionBits: number): Format {
  const bias = 2 ** (exponentBits - 1) - 1;
  const infinity = (2 ** exponentBits - 1) * 2 ** fractionBits;
  const values: number[] = [];
  for (let bits = 0; bits <= infinity; bits++) {
    const exponent = Math.floor(bits / 2 ** fractionBits);
    const fraction = (bits % 2 ** fractionBits) / 2 ** fractionBits;
    values.push(
      exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias),
    );
  }
  return { values, infinity };
}

const FORMATS = { float16: format(5, 10), bfloat16: format(8, 7) } as const;

/** The number that a 16-bit pattern stands for. */
export function valueOf16(bits: number, dtype: 'float16' | 'bfloat16'): number {
  const { values, infinity } = FORMATS[dtype];
  const magnitude = bits & 0x7fff;
  if (magnitude > infinity) return NaN;
  const value = magnitude === infinity ? Infinity : (values[magnitude] ?? NaN);
  return bits & 0x8000 ? -value : value;
}

/** The 16-bit pattern nearest to a value, ties to the even pattern; NaN as 'nan'. */
export function nearest16(value: Value, dtype: 'float16' | 'bfloat16'): number | 'nan' {
  if (typeof value === 'number' && Number.isNaN(value)) return 'nan';
  const { values, infinity } = FORMATS[dtype];
  const negative = value < 0 || Object.is(value, -0);
  const magnitude = value < 0 ? -value : Object.is(value, -0) ? 0 : value;
  const sign = negative ? 0x8000 : 0;
  if (magnitude >= (values[infinity] ?? 0)) return sign | infinity;
  let low = 0;
  let high = infinity;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (magnitude >= (values[middle] ?? 0)) low = middle;
    else high = middle;
  }
  // Neighbours differ in one bit, so their mean is exact in a double.
  const mean = ((values[low] ?? 0) + (values[high] ?? 0)) / 2;
  if (magnitude > mean) return sign | high;
  if (magnitude < mean) return sign | low;
  return sign | (low % 2 === 0 ? low : high);
}

function nearest32(value: Value): number {
  if (typeof value === 'number') return Math.fround(value);
  const guess = Math.fround(Number(value));
  const step = 2 ** (Math.floor(Math.log2(Math.max(1, Math.abs(guess)))) - 23);
  const distance = (candidate: number): bigint => {
    const d = BigInt(candidate) - value;
    return d < 0n ? -d : d;
  };
  const candidates = [guess - step, guess, guess + step].map(Math.fround).filter(Number.isInteger);
  return candidates.reduce((best, candidate) => {
    const [a, b] = [distance(candidate), distance(best)];
    if (a !== b) return a < b ? candidate : best;
    return (new Uint32Array(Float32Array.of(candidate).buffer)[0] ?? 0) % 2 === 0
      ? candidate
      : best;
  }, guess);
}

function truncated(value: Value, low: bigint, high: bigint): bigint {
  if (typeof value === 'bigint') {
    const span = high - low + 1n;
    return ((((value - low) % span) + span) % span) + low;
  }
  if (Number.isNaN(value)) return 0n;
  if (value >= high) return high;
  if (value <= low) return low;
  return BigInt(Math.trunc(value));
}

/**
 * The stored element that a value of a source dtype must become. Integer sources come as bigint, floating ones as number;
 * bool as 0n or 1n. NaN of any kind is 'nan'.
 */
export function castOracle(value: Value, to: DType): Value | 'nan' {
  switch (to) {
    case 'float64': {
      const result = Number(value);
      return Number.isNaN(result) ? 'nan' : result;
    }
    case 'float32': {
      const result = nearest32(value);
      return Number.isNaN(result) ? 'nan' : result;
    }
    case 'float16':
    case 'bfloat16':
      return nearest16(value, to);
    case 'int64':
      return truncated(value, -(2n ** 63n), 2n ** 63n - 1n);
    case 'int32':
      return Number(truncated(value, -(2n ** 31n), 2n ** 31n - 1n));
    case 'uint8':
      return Number(truncated(value, 0n, 255n));
    case 'bool':
      // eslint-disable-next-line eqeqeq -- exact for numbers and bigints alike; NaN differs from 0
      return value != 0 ? 1 : 0;
  }
}
