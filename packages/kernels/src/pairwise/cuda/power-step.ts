import { cudaLiteral } from '../../emit/literals.js';
import { horner } from '../../emit/cuda-math.js';
import { EXP2_FLOAT32 } from '../../emit/polynomials.js';
import type { PairStep, StepText } from '../../pair-tile/cuda/pair-arithmetic.js';

const absoluteFunction = (
  name: string,
): string => `__device__ __forceinline__ float ${name}(float sum, float x, float y, float one) {
  return sum + fabsf(fmaf(x, one, -y));
}`;

/**
 * |x - y| as a fused multiply-add with a factor that only the hardware knows to be 1: an addition
 * and a multiply-add issue faster than two additions.
 */
export function absoluteStep(): PairStep {
  return {
    helpers: new Set(),
    functions: absoluteFunction('accumulate'),
    setup: 'const float one = k < 0 ? 0.0f : 1.0f;',
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y}, one)`,
    combine: (x, y) => `${x} + ${y}`,
    issueSlots: 2,
    special: 0,
  };
}

/** lg2.approx truncates: its results are this much too small, relatively, on average. */
const LOG2_BIAS = 0.75 * 2 ** -24;

/** 1.5 * 2^23: adding it rounds to a whole number in the lowest bits. */
const MAGIC = 12582912;

const FAST_FUNCTIONS = `__device__ __forceinline__ float log2_distance(float x, float y) {
  float l;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(l) : "f"(fabsf(x - y)));
  return l;
}
__device__ __forceinline__ float add_special(float sum, float x, float y, Power c) {
  const float l = log2_distance(x, y);
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaf(l, c.p, l * c.low)));
  return sum + r;
}
__device__ __forceinline__ float add_polynomial(float sum, float x, float y, Power c) {
  float l = log2_distance(x, y), exponent;
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(l) : "f"(c.lowest));
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(exponent) : "f"(l), "f"(c.scaled), "f"(${cudaLiteral(127 / 255, 'float32')}));
  const float n = fmaf(exponent, 255.0f, ${cudaLiteral(MAGIC, 'float32')});
  const float f = fmaf(l, c.low, fmaf(l, c.p, ${cudaLiteral(MAGIC + 127, 'float32')} - n));
  const float r = ${horner(EXP2_FLOAT32, 'f', 'float32')};
  return fmaf(r, __int_as_float(__float_as_int(n) << 23), sum);
}`;

/** The exponent in two parts, the lower one above 0, so that both products of an infinite logarithm agree. */
const FAST_EXPONENT = `const double exponent = p * ${1 + LOG2_BIAS};
  float high = (float)exponent;
  if ((double)high >= exponent) high = __int_as_float(__float_as_int(high) - 1);`;

/** The first members of `Power` from there on. */
const FAST_PARTS = 'high, (float)(exponent - (double)high)';

/** Of eight columns those that take the polynomial; others wait for the special-function unit. */
const HALF = 4;

const fastText =
  (eighths: number): StepText =>
  (sum, x, y, place) =>
    eighths === 0
      ? `add_special(${sum}, ${x}, ${y}, power)`
      : `(${place}) * ${eighths} % 8 < ${eighths} ? add_polynomial(${sum}, ${x}, ${y}, power) : add_special(${sum}, ${x}, ${y}, power)`;

/**
 * |x - y|^p by lg2 and ex2. The special-function unit would be the limit, so part of the columns
 * take 2^t from a polynomial: t = n + f by rounding, the exponent field from n saturated to
 * [-127, 128] (so that it is exactly 0 or infinity at the ends), log2 of 0 lifted to a finite number
 * below the range so that f stays finite, and NaN passing through f.
 */
export function fastPowerStep(eighths = HALF): PairStep {
  return {
    helpers: new Set(),
    functions: `struct Power { float p, low, scaled, lowest; };
${FAST_FUNCTIONS}`,
    setup: `${FAST_EXPONENT}
  const Power power = {${FAST_PARTS}, (float)(p / 255.0), (float)(-256.0 / p)};`,
    step: fastText(eighths),
    combine: (x, y) => `${x} + ${y}`,
    issueSlots: 6 + (9 * eighths) / 8,
    special: 2 - eighths / 8,
  };
}

const accurateFunction = (
  name: string,
): string => `__device__ __forceinline__ float ${name}(float sum, float x, float y, Power c) {
  return sum + pow_positive(fabsf(x - y), c.p, c.low);
}`;

/** The members of `Power`. */
const ACCURATE_POWER = '{(float)p, (float)(p - (double)(float)p)}';

/**
 * |x - y|^p by polynomials alone: d = 2^e m with m in [3/4, 3/2), and p e is exact inside a fused
 * multiply-add, so the error does not grow with |log2 d|. Zero, infinity, NaN and denormals are their
 * own powers.
 */
export function accuratePowerStep(): PairStep {
  return {
    helpers: new Set(['powPositive']),
    functions: `struct Power { float p, low; };
${accurateFunction('accumulate')}`,
    setup: `const Power power = ${ACCURATE_POWER};`,
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y}, power)`,
    combine: (x, y) => `${x} + ${y}`,
    issueSlots: 35,
    special: 0,
  };
}

/**
 * |x - y|^p for a p that the launch finds in memory, given as text: p decides between the difference
 * itself, its square, the fast way as far as it holds the bound, and the accurate one.
 */
export function eitherPowerStep(p: string): PairStep {
  const { issueSlots, special, step, combine } = fastPowerStep();
  return {
    helpers: new Set(['powPositive']),
    functions: `struct Power { float p, low, scaled, lowest; int path; };
${FAST_FUNCTIONS}
${accurateFunction('add_accurate')}
${absoluteFunction('add_absolute')}
__device__ __forceinline__ float add_square(float sum, float x, float y) {
  const float d = x - y;
  return fmaf(d, d, sum);
}
// the last member: 0 fast, 1 and 2 those powers, 3 accurate; a smaller p than 1e-30 has no finite quotient below
__device__ __forceinline__ Power power_of(double p) {
  if (p == 1.0 || p == 2.0) return {(float)p, 0.0f, 0.0f, 0.0f, (int)p};
  if (!(p >= 1e-30 && p < 2.0)) {
    Power power = ${ACCURATE_POWER};
    power.path = 3;
    return power;
  }
  ${FAST_EXPONENT}
  return {${FAST_PARTS}, (float)p / 255.0f, -256.0f / (float)p};
}`,
    setup: `const Power power = power_of(${p});`,
    perLayer: true,
    cases: [
      { when: 'power.path == 1', step: (sum, x, y) => `add_absolute(${sum}, ${x}, ${y}, power.p)` },
      { when: 'power.path == 2', step: (sum, x, y) => `add_square(${sum}, ${x}, ${y})` },
      {
        when: 'power.path == 3',
        step: (sum, x, y) => `add_accurate(${sum}, ${x}, ${y}, power)`,
        long: true,
      },
    ],
    step,
    combine,
    issueSlots,
    special,
  };
}
