import type { PairwiseDType } from '../dtype.js';
import { cpuLiteral } from './literals.js';
import { cpuMathText } from '../math/cpu-math-text.js';
import type { MathFunction } from '../math/math-function.js';
import { instruction, type CpuLevel } from './cpu-vector.js';
import { helpersInOrder } from '../math/pieces.js';
import {
  EXP2_FLOAT32,
  EXP2_FLOAT64,
  EXP_FLOAT32,
  EXP_FLOAT64,
  LOG2_FLOAT32,
  LOG2_FLOAT64,
  TANH_FLOAT32,
  TANH_FLOAT64,
} from './polynomials.js';

/** Vector functions that emitted expressions may call: those of this file, and functions of `math`. */
export type CpuHelper = BasicHelper | MathFunction;

/** Vector functions whose text is in this file, each with what it calls. */
const NEEDS = {
  abs: [],
  blend: [],
  max: [],
  min: [],
  sign: [],
  sqrt: [],
  clamp: [],
  maxBits: [],
  rsqrt: ['sqrt'],
  round: [],
  log2Split: [],
  // With what its callers limit and round exponents by.
  timesPower: ['clamp', 'round'],
  exp2Split: ['timesPower'],
  powNonNegative: ['round', 'log2Split', 'exp2Split'],
  powAny: ['abs', 'round', 'powNonNegative'],
  exp: ['timesPower'],
  exp2: ['timesPower'],
  log: ['abs', 'log2Split'],
  tanh: ['abs', 'exp'],
} as const;

type BasicHelper = keyof typeof NEEDS;

/** Every helper. */
export const CPU_HELPERS = Object.freeze(Object.keys(NEEDS)) as readonly CpuHelper[];

/** The text of the helpers asked for and of those that they need, each once, in order of need. */
export function cpuHelpers(
  wanted: Iterable<CpuHelper>,
  dtype: PairwiseDType,
  level: CpuLevel,
): string {
  const { own, functions } = helpersInOrder<BasicHelper>(wanted, NEEDS);
  const texts = helperTexts(format(dtype), level);
  return [...own.map((helper) => texts[helper]), ...cpuMathText(functions, dtype, level)].join(
    '\n',
  );
}

/** The numbers of a floating-point format that the helpers are written with. */
interface Format {
  readonly dtype: PairwiseDType;
  /** Bits of the fraction. */
  readonly fraction: number;
  readonly bias: number;
  /** Suffix of instructions: single or double. */
  readonly suffix: 'ps' | 'pd';
  readonly lit: (value: number) => string;
  /** An integer literal of the lane width. */
  readonly int: (value: bigint) => string;
}

function format(dtype: PairwiseDType): Format {
  const isFloat = dtype === 'float32';
  return {
    dtype,
    fraction: isFloat ? 23 : 52,
    bias: isFloat ? 127 : 1023,
    suffix: isFloat ? 'ps' : 'pd',
    lit: (value) => cpuLiteral(value, dtype),
    int: (value) => `0x${value.toString(16)}${isFloat ? '' : 'll'}`,
  };
}

/** Horner's scheme; the compiler contracts each step to a fused multiply-add where there is one. */
function horner(coefficients: readonly number[], x: string, lit: Format['lit']): string {
  return coefficients.map(lit).reduceRight((high, low) => `(${high} * ${x} + ${low})`);
}

function helperTexts(f: Format, level: CpuLevel): { readonly [H in BasicHelper]: string } {
  const { lit, int } = f;
  const sign = 1n << BigInt(f.dtype === 'float32' ? 31 : 63);
  const hardware = level === 'x86-64-v4';
  const infinity = lit(Infinity);
  return {
    abs: `INLINE V abs_v(V x) { return (V)((I)x & ${int(sign - 1n)}); }`,
    blend: `INLINE V blend_v(I condition, V x, V y) { return condition ? x : y; }`,
    // NaN stays: a comparison with NaN is false, so the second argument's NaN is taken as it is.
    max: `INLINE V max_v(V x, V y) { return ((x > y) | (x != x)) ? x : y; }`,
    min: `INLINE V min_v(V x, V y) { return ((x < y) | (x != x)) ? x : y; }`,
    sign: `INLINE V sign_v(V x) {
  return x > splat(0) ? splat(1) : x < splat(0) ? splat(-1) : x;
}`,
    sqrt: instruction('sqrt_v', level === 'arm64' ? 'fsqrt' : 'sqrt', level, f.dtype),
    // If y is NaN, so is the result. If x is NaN, the result may be either.
    clamp: [
      instruction('at_least', level === 'arm64' ? 'fmax' : 'max', level, f.dtype, 2),
      instruction('no_more_than', level === 'arm64' ? 'fmin' : 'min', level, f.dtype, 2),
    ].join('\n'),
    // Non-negative values are ordered like their bits, and NaN lies above infinity.
    maxBits: `INLINE V max_bits(V x, V y) { return (V)((I)x > (I)y ? (I)x : (I)y); }`,
    rsqrt: `INLINE V rsqrt_v(V x) { return x == splat(0) ? splat(0) : splat(1) / sqrt_v(x); }`,
    round: `// nearest whole number, ties to even
${roundInstruction(f, level)}`,
    log2Split: hardware ? hardwareLog2(f) : portableLog2(f, infinity),
    ...(hardware ? hardwareExponentials(f) : portableExponentials(f)),
    powNonNegative: `// x^(y + y_low) for x >= 0, with y e kept exact in a fused multiply-add; NaN if y is NaN
INLINE V pow_nonnegative(V x, V exponent, V y_low) {
  // an exponent of this size decides as an infinite one does, but has finite products
  const V most = splat(${lit(f.dtype === 'float32' ? 1e30 : 1e300)});
  const V y = exponent > most ? most : exponent < -most ? -most : exponent;
  V e;
  const V l = log2_split(x, e);
  const V t = y * e + y * l;
  const V n = round_v(t);
  const V r = exp2_split(n, y * l + (y_low * e + (y * e - n)));
  return y == splat(0) ? splat(1) : r;
}`,
    powAny: `// x^y as IEEE 754 defines it
INLINE V pow_any(V x, V y) {
  V r = pow_nonnegative(abs_v(x), y, splat(0));
  r = ((abs_v(x) == splat(1)) & (y == y)) ? splat(1) : r;
  const V half = y * splat(${lit(0.5)});
  const I odd = (round_v(y) == y) & (round_v(half) != half);
  const I no_root = (round_v(y) != y) & (abs_v(x) < splat(${infinity})) & (y == y);
  const V negative = no_root ? splat(${lit(NaN)}) : odd ? -r : r;
  r = x < splat(0) ? negative : r;
  return x == splat(1) ? splat(1) : r;
}`,
    log: `INLINE V log_v(V x) {
  V e;
  const V l = log2_split(x, e);
  const V r = e * splat(${lit(LN2_HIGH[f.dtype])}) + (e * splat(${lit(LN2_LOW[f.dtype])}) + l * splat(${lit(Math.LN2)}));
  return x < splat(0) ? splat(${lit(NaN)}) : abs_v(e) < splat(${infinity}) ? r : e;
}`,
    // x + x^3 P(x^2) near 0, where 1 - 2 / (e^2x + 1) would cancel; its sign is put back by bits.
    tanh: `INLINE V tanh_v(V x) {
  const V size = abs_v(x), z = x * x;
  const V near = x + x * (z * ${horner(f.dtype === 'float32' ? TANH_FLOAT32 : TANH_FLOAT64, 'z', lit)});
  const V far = splat(1) - splat(2) / (exp_v(size + size) + splat(1));
  return size < splat(${lit(0.5)}) ? near : (V)((I)far | ((I)x & ${signMask(f)}));
}`,
  };
}

/** ln 2 in two parts; the high one has enough trailing zeros for exact products with exponents. */
const LN2_HIGH = { float32: 0.693359375, float64: 0.6931471803691238 } as const;
const LN2_LOW = { float32: -2.12194440054690583e-4, float64: 1.9082149292705877e-10 } as const;

const signMask = (f: Format): string =>
  f.dtype === 'float32' ? '(int)0x80000000' : '(long long)0x8000000000000000ull';

/** log2(m) from m in [3/4, 3/2). */
function log2OfMantissa(f: Format): string {
  if (f.dtype === 'float32') {
    return `  const V g = m - splat(1);
  return g * ${horner(LOG2_FLOAT32, 'g', f.lit)};`;
  }
  return `  const V s = (m - splat(1)) / (m + splat(1)), z = s * s;
  return s * ${horner(LOG2_FLOAT64, 'z', f.lit)};`;
}

// vgetexp and vgetmant take denormals as they are and give e = -inf for 0, +inf for inf, NaN for
// NaN, with m = 1: nothing else has to be done for special values.
function hardwareLog2(f: Format): string {
  return `// e and log2(m) of x = 2^e m for x >= 0, m in [3/4, 3/2); e is -inf for 0, x for inf and NaN
INLINE V log2_split(V x, V& e) {
  V m, x_e;
  asm("vgetexp${f.suffix} %1, %0" : "=v"(x_e) : "v"(x));
  asm("vgetmant${f.suffix} $3, %1, %0" : "=v"(m) : "v"(x));
  e = m < splat(1) ? x_e + splat(1) : x_e;
${log2OfMantissa(f)}
}`;
}

function portableLog2(f: Format, infinity: string): string {
  const { lit, int, fraction, bias } = f;
  const quarter = 1n << BigInt(fraction - 1);
  const lift = fraction + 1;
  // An integer below 2^fraction put into the fraction of 2^fraction reads as 2^fraction + integer.
  const magic = BigInt(bias + fraction) << BigInt(fraction);
  return `// e and log2(m) of x = 2^e m for x >= 0, m in [3/4, 3/2); e is -inf for 0, x for inf and NaN
INLINE V log2_split(V x, V& e) {
  const I tiny = x < splat(${lit(2 ** (1 - bias))});
  const U bits = (U)(tiny ? x * splat(${lit(2 ** lift)}) : x);
  const U shift = (bits + ${int(quarter)}) >> ${fraction};
  const V m = (V)(bits - ((shift - ${bias}) << ${fraction}));
  e = (V)(shift | ${int(magic)}) - splat(${lit(2 ** fraction + bias)});
  e = tiny ? e - splat(${lit(lift)}) : e;
  e = x > splat(0) ? e : splat(-${infinity});
  e = x < splat(${infinity}) ? e : x;
${log2OfMantissa(f)}
}`;
}

/** The instruction that rounds to the nearest whole number, ties to even. */
function roundInstruction({ dtype, suffix }: Format, level: CpuLevel): string {
  if (level === 'arm64') return instruction('round_v', 'frintn', level, dtype);
  if (level === 'wasm128') {
    const type = dtype === 'float32' ? 'f32x4' : 'f64x2';
    return `INLINE V round_v(V x) { return (V)__builtin_wasm_nearest_${type}(x); }`;
  }
  const [code, register] = {
    'x86-64-v2': ['round', 'x'],
    'x86-64-v3': ['vround', 'x'],
    'x86-64-v4': ['vrndscale', 'v'],
  }[level];
  return `INLINE V round_v(V x) {
  V r;
  asm("${code}${suffix} $8, %1, %0" : "=${register}"(r) : "${register}"(x));
  return r;
}`;
}

const exp2Polynomial = (f: Format, x: string): string =>
  horner(f.dtype === 'float32' ? EXP2_FLOAT32 : EXP2_FLOAT64, x, f.lit);
const expPolynomial = (f: Format, x: string): string =>
  horner(f.dtype === 'float32' ? EXP_FLOAT32 : EXP_FLOAT64, x, f.lit);

/** `x - n ln 2`, by Cody and Waite, Software Manual for the Elementary Functions (1980). */
const lessLn2 = ({ lit, dtype }: Format): string =>
  `(x - n * splat(${lit(LN2_HIGH[dtype])})) - n * splat(${lit(LN2_LOW[dtype])})`;

type Exponentials = { readonly [H in 'timesPower' | 'exp2Split' | 'exp' | 'exp2']: string };

/** vscalef takes any exponent. vrange replaces NaN and fractions beyond 1 and -1 by these: there n alone decides. */
function hardwareExponentials(f: Format): Exponentials {
  return {
    timesPower: `// p 2^n for whole n, infinities and NaN
INLINE V times_power(V p, V n) {
  V r;
  asm("vscalef${f.suffix} %2, %1, %0" : "=v"(r) : "v"(p), "v"(n));
  return r;
}
// x, but 1 or -1 where x is NaN or beyond them
INLINE V within_one(V x) {
  V r;
  asm("vrange${f.suffix} $2, %2, %1, %0" : "=v"(r) : "v"(x), "v"(splat(1)));
  return r;
}`,
    exp2Split: `// 2^(n + f) for whole n, infinities and NaN; f counts where n is finite, and |f| <= 1/2 there
INLINE V exp2_split(V n, V f) {
  const V c = within_one(f);
  return times_power(${exp2Polynomial(f, 'c')}, n);
}`,
    exp: `INLINE V exp_v(V x) {
  const V n = round_v(x * splat(${f.lit(Math.LOG2E)}));
  const V r = within_one(${lessLn2(f)});
  return times_power(${expPolynomial(f, 'r')}, n);
}`,
    exp2: `INLINE V exp2_v(V x) {
  const V n = round_v(x), c = within_one(x - n);
  return times_power(${exp2Polynomial(f, 'c')}, n);
}`,
  };
}

/** Powers of two are built from bits. Exponents are limited to where results become 0 or infinite. */
function portableExponentials(f: Format): Exponentials {
  const { lit, bias, fraction } = f;
  // The low bits of a number plus this one hold the nearest whole number plus twice the bias.
  const lift = lit(1.5 * 2 ** fraction + 2 * bias);
  const magic = `splat(${lift})`;
  const [least, most] = [-bias - fraction - 1, bias + 2];
  const clamp = (x: string, low: number, high: number): string =>
    `no_more_than(splat(${lit(high)}), at_least(splat(${lit(low)}), ${x}))`;
  return {
    timesPower: `// p 2^n as a product of two powers, so that only the result is rounded; \`lifted\` is n + ${lift}
INLINE V times_power(V p, V lifted) {
  const U bits = (U)lifted, half = bits >> 1;
  return p * (V)(half << ${fraction}) * (V)((bits - half) << ${fraction});
}`,
    exp2Split: `// 2^(n + f) for whole n, infinities and NaN; f counts where n is finite, and |f| <= 1/2 there
INLINE V exp2_split(V n, V f) {
  const V k = ${clamp('n', least, most)};
  const V c = n == k ? f : splat(0);
  const V r = times_power(${exp2Polynomial(f, 'c')}, k + ${magic});
  return n == n ? r : n;
}`,
    exp: `INLINE V exp_v(V exponent) {
  const V x = ${clamp('exponent', Math.floor(least * Math.LN2), Math.ceil(most * Math.LN2))};
  const V lifted = x * splat(${lit(Math.LOG2E)}) + ${magic}, n = lifted - ${magic};
  const V r = ${lessLn2(f)};
  return times_power(${expPolynomial(f, 'r')}, lifted);
}`,
    exp2: `INLINE V exp2_v(V exponent) {
  const V x = ${clamp('exponent', least, most)};
  const V lifted = x + ${magic}, c = x - (lifted - ${magic});
  return times_power(${exp2Polynomial(f, 'c')}, lifted);
}`,
  };
}
