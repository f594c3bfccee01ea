import { cudaMathText } from '../math/cuda-math-text.js';
import type { MathFunction } from '../math/math-function.js';
import type { PairwiseDType } from '../dtype.js';
import { EXP2_FLOAT32, EXP2_FLOAT64, LOG2_FLOAT32, LOG2_FLOAT64 } from './polynomials.js';
import { cudaLiteral } from './literals.js';
import { FAST_TEXTS, isFastHelper, type FastHelper } from './fast-math.js';
import { helpersInOrder } from '../math/pieces.js';

/** Helper functions that emitted expressions may call: those of this file, those of `fastMath`, and functions of `math`. */
export type CudaHelper = BasicHelper | FastHelper | MathFunction;

/** Helper functions whose text is in this file, each with what it calls. */
const NEEDS = {
  exp2Split: [],
  log2Split: [],
  powNonNegative: ['log2Split', 'exp2Split'],
  powAny: ['powNonNegative'],
  max: [],
  min: [],
  sqrtApproximate: [],
  rsqrtApproximate: [],
  sqrtNonNegative: [],
  powPositive: [],
  expApproximate: [],
  exp2Approximate: [],
} as const;

type BasicHelper = keyof typeof NEEDS;

/**
 * Horner's scheme as nested fused multiply-adds, highest power first:
 * `fma(fma(c2, x, c1), x, c0)`.
 */
export function horner(coefficients: readonly number[], x: string, dtype: PairwiseDType): string {
  const fma = dtype === 'float32' ? 'fmaf' : 'fma';
  const terms = coefficients.map((c) => cudaLiteral(c, dtype));
  return terms.reduceRight((high, low) => `${fma}(${high}, ${x}, ${low})`);
}

/** The text of the helpers asked for and of those that they need, each once. */
export function cudaHelpers(wanted: Iterable<CudaHelper>, dtype: PairwiseDType): string {
  const all = [...new Set(wanted)];
  const usual = all.filter((helper): helper is BasicHelper | MathFunction => !isFastHelper(helper));
  const { own, functions } = helpersInOrder<BasicHelper>(usual, NEEDS);
  const texts = dtype === 'float32' ? FLOAT32 : FLOAT64;
  const fast = all.filter(isFastHelper);
  return [
    ...own.map((helper) => texts[helper]),
    ...fast.map((helper) => FAST_TEXTS[helper]),
    ...cudaMathText(functions, dtype),
  ].join('\n');
}

// x = 2^e m with m in [3/4, 3/2): then y log2 x = y e + y log2 m, and y e is kept exact inside one
// fused multiply-add, so the error of a power does not grow with the size of its exponent.
const FLOAT32: { readonly [H in BasicHelper]: string } = {
  log2Split: `// e and log2(m) of x = 2^e m, for 0 < x < inf
__device__ __forceinline__ float log2_split(float x, float& e) {
  const bool tiny = x < 1.17549435e-38f;
  const int bits = __float_as_int(tiny ? x * 16777216.0f : x);
  const int shift = (bits - 0x3f400000) >> 23;
  e = (float)(tiny ? shift - 24 : shift);
  const float f = __int_as_float(bits - (shift << 23)) - 1.0f;
  return f * ${horner(LOG2_FLOAT32, 'f', 'float32')};
}`,
  exp2Split: `// 2^(n + f) for whole n in [-160, 160] and |f| <= 1/2
__device__ __forceinline__ float exp2_split(float n, float f) {
  const float r = ${horner(EXP2_FLOAT32, 'f', 'float32')};
  const int whole = (int)n, half = whole >> 1;
  return r * __int_as_float((half + 127) << 23) * __int_as_float((whole - half + 127) << 23);
}`,
  powNonNegative: `// x^(y + y_low) for x >= 0; NaN below, and for y = NaN
__device__ __forceinline__ float pow_nonnegative(float x, float exponent, float y_low) {
  // an exponent of this size decides as an infinite one does, but has finite products
  const float y = fabsf(exponent) > 1e30f ? copysignf(1e30f, exponent) : exponent;
  float e;
  const float l = log2_split(x, e);
  const float t = fmaf(y, e, y * l);
  const float n = rintf(fminf(fmaxf(t, -160.0f), 160.0f));
  const float f = fmaf(y, l, fmaf(y_low, e, fmaf(y, e, -n)));
  const float infinity = __int_as_float(0x7f800000);
  float r = t > 129.0f ? infinity : t < -151.0f ? 0.0f : exp2_split(n, f);
  if (!(x > 0.0f && x < infinity)) {
    r = x == 0.0f ? (y > 0.0f ? 0.0f : infinity) : x > 0.0f ? (y > 0.0f ? infinity : 0.0f) : x - x;
    if (x < 0.0f || y != y) r = __int_as_float(0x7fffffff);
  }
  return y == 0.0f ? 1.0f : r;
}`,
  powPositive: `// x^(y + y_low) for x >= 0 and y > 0, without a branch; 0, inf, NaN and denormals are their own powers
__device__ __forceinline__ float pow_positive(float x, float y, float y_low) {
  const int bits = __float_as_int(x), shift = (bits - 0x3f400000) >> 23;
  const float e = (float)shift, g = __int_as_float(bits - (shift << 23)) - 1.0f;
  const float l = g * ${horner(LOG2_FLOAT32, 'g', 'float32')};
  const float t = fminf(fmaxf(fmaf(y, e, y * l), -127.0f), 128.0f);
  const float n = t + 12583039.0f, whole = n - 12583039.0f;
  const float f = fmaf(y, l, fmaf(y_low, e, fmaf(y, e, -whole)));
  const float r = ${horner(EXP2_FLOAT32, 'f', 'float32')} * __int_as_float(__float_as_int(n) << 23);
  return (unsigned)bits - 0x00800000u < 0x7f000000u ? r : x;
}`,
  powAny: `// x^y as IEEE 754 defines it, signs included
__device__ __forceinline__ float pow_any(float x, float y) {
  if (x == 1.0f) return 1.0f;
  const float r = pow_nonnegative(fabsf(x), y, 0.0f);
  if (!(x < 0.0f) || y == 0.0f) return r;
  if (rintf(y) != y) return x < -3.0e38f && fabsf(x) == __int_as_float(0x7f800000) ? r : __int_as_float(0x7fffffff);
  return fabsf(y) < 16777216.0f && ((int)y & 1) != 0 ? -r : r;
}`,
  max: `// the larger, NaN if either is NaN
__device__ __forceinline__ float max_nan(float x, float y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}`,
  min: `// the smaller, NaN if either is NaN
__device__ __forceinline__ float min_nan(float x, float y) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}`,
  sqrtApproximate: `// within 2 u; 0 for a denormal x
__device__ __forceinline__ float sqrt_approximate(float x) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}`,
  rsqrtApproximate: `// 1 / sqrt(x) within 2.2 u, for x >= 0; 0 for 0 and for a denormal x
__device__ __forceinline__ float rsqrt_approximate(float x) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return x < 1.17549435e-38f ? 0.0f : r;
}`,
  sqrtNonNegative: `// one corrected step from the approximate 1/sqrt(x), without a branch: exact where the root is; denormals are scaled
__device__ __forceinline__ float sqrt_nonnegative(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float s = tiny ? x * 18446744073709551616.0f : x;
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(s, 1.17549435e-38f)));
  const float y = s * r;
  const float step = fmaf(fmaf(-y, y, s), 0.5f * r, y);
  const float root = s == __int_as_float(0x7f800000) ? s : step;
  return tiny ? root * 2.3283064365386963e-10f : root;
}`,
  exp2Approximate: `// 2^x within 2.9 u; 0 below the normal range
__device__ __forceinline__ float exp2_approximate(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}`,
  // 2^y errs by 2.9 u (PTX: 2^-22.5); y = x log2(e) is rounded by |x| u and its constant by 0.22 |x| u.
  expApproximate: `// e^x within (3 + 1.3 |x|) u; 0 below the normal range
__device__ __forceinline__ float exp_approximate(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269502f));
  return r;
}`,
};

const FLOAT64: { readonly [H in BasicHelper]: string } = {
  log2Split: `// e and log2(m) of x = 2^e m, for 0 < x < inf
__device__ __forceinline__ double log2_split(double x, double& e) {
  const bool tiny = x < 2.2250738585072014e-308;
  const long long bits = __double_as_longlong(tiny ? x * 18014398509481984.0 : x);
  const int shift = ((int)(bits >> 32) - 0x3fe80000) >> 20;
  e = (double)(tiny ? shift - 54 : shift);
  const double m = __longlong_as_double(bits - ((long long)shift << 52));
  const double d = m + 1.0;
  double q;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(q) : "d"(d));
  q = fma(fma(-d, q, 1.0), q, q);
  q = fma(fma(-d, q, 1.0), q, q);
  const double f = m - 1.0, s0 = f * q;
  const double s = fma(fma(-d, s0, f), q, s0), z = s * s;
  return s * ${horner(LOG2_FLOAT64, 'z', 'float64')};
}`,
  exp2Split: `// 2^(n + f) for whole n in [-1100, 1100] and |f| <= 1/2
__device__ __forceinline__ double exp2_split(double n, double f) {
  const double r = ${horner(EXP2_FLOAT64, 'f', 'float64')};
  const int whole = (int)n, half = whole >> 1;
  return r * __hiloint2double((half + 1023) << 20, 0) * __hiloint2double((whole - half + 1023) << 20, 0);
}`,
  powNonNegative: `// x^(y + y_low) for x >= 0; NaN below, and for y = NaN
__device__ __forceinline__ double pow_nonnegative(double x, double exponent, double y_low) {
  // an exponent of this size decides as an infinite one does, but has finite products
  const double y = fabs(exponent) > 1e300 ? copysign(1e300, exponent) : exponent;
  double e;
  const double l = log2_split(x, e);
  const double t = fma(y, e, y * l);
  const double n = rint(fmin(fmax(t, -1100.0), 1100.0));
  const double f = fma(y, l, fma(y_low, e, fma(y, e, -n)));
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  double r = t > 1025.0 ? infinity : t < -1080.0 ? 0.0 : exp2_split(n, f);
  if (!(x > 0.0 && x < infinity)) {
    r = x == 0.0 ? (y > 0.0 ? 0.0 : infinity) : x > 0.0 ? (y > 0.0 ? infinity : 0.0) : x - x;
    if (x < 0.0 || y != y) r = __longlong_as_double(0x7fffffffffffffffll);
  }
  return y == 0.0 ? 1.0 : r;
}`,
  powPositive: `// x^(y + y_low) for x >= 0 and y > 0, without a branch; 0, inf, NaN and denormals are their own powers
__device__ __forceinline__ double pow_positive(double x, double y, double y_low) {
  const int high = __double2hiint(x), shift = (high - 0x3fe80000) >> 20;
  const double e = (double)shift, m = __hiloint2double(high - (shift << 20), __double2loint(x));
  const double d = m + 1.0, g = m - 1.0;
  double q;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(q) : "d"(d));
  q = fma(fma(-d, q, 1.0), q, q);
  q = fma(fma(-d, q, 1.0), q, q);
  const double s0 = g * q, s = fma(fma(-d, s0, g), q, s0), z = s * s;
  const double l = s * ${horner(LOG2_FLOAT64, 'z', 'float64')};
  const double t = fmin(fmax(fma(y, e, y * l), -1023.0), 1024.0);
  const double n = t + 6755399441056767.0, whole = n - 6755399441056767.0;
  const double f = fma(y, l, fma(y_low, e, fma(y, e, -whole)));
  const double r = ${horner(EXP2_FLOAT64, 'f', 'float64')} * __hiloint2double(__double2loint(n) << 20, 0);
  return (unsigned)high - 0x00100000u < 0x7fe00000u ? r : x;
}`,
  powAny: `// x^y as IEEE 754 defines it, signs included
__device__ __forceinline__ double pow_any(double x, double y) {
  if (x == 1.0) return 1.0;
  const double r = pow_nonnegative(fabs(x), y, 0.0);
  if (!(x < 0.0) || y == 0.0) return r;
  if (rint(y) != y) return x < -1.7e308 && fabs(x) == __longlong_as_double(0x7ff0000000000000ll) ? r : __longlong_as_double(0x7fffffffffffffffll);
  return fabs(y) < 9007199254740992.0 && ((long long)y & 1) != 0 ? -r : r;
}`,
  max: `// the larger, NaN if either is NaN
__device__ __forceinline__ double max_nan(double x, double y) {
  return x > y || x != x ? x : y;
}`,
  min: `// the smaller, NaN if either is NaN
__device__ __forceinline__ double min_nan(double x, double y) {
  return x < y || x != x ? x : y;
}`,
  sqrtApproximate: `__device__ __forceinline__ double sqrt_approximate(double x) { return sqrt(x); }`,
  rsqrtApproximate: `__device__ __forceinline__ double rsqrt_approximate(double x) { return x == 0.0 ? 0.0 : rsqrt(x); }`,
  sqrtNonNegative: `__device__ __forceinline__ double sqrt_nonnegative(double x) { return sqrt(x); }`,
  expApproximate: `__device__ __forceinline__ double exp_approximate(double x) { return exp(x); }`,
  exp2Approximate: `__device__ __forceinline__ double exp2_approximate(double x) { return exp2(x); }`,
};
