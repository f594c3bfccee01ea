import { constant, type RealExpr } from '@mercer/formula';
import { cudaLiteral } from '../../emit/literals.js';
import { emitCudaExpression } from '../../emit/cuda-expression.js';
import { cudaHelpers, horner } from '../../emit/cuda-math.js';
import { lines } from '../../emit/text.js';
import { EXP2_FLOAT32, EXP2_FLOAT64, LOG2_FLOAT32, LOG2_FLOAT64 } from '../../emit/polynomials.js';
import { normDerivative, RUNTIME_DERIVATIVE } from '../norm-derivative.js';
import type { CudaCdistGradPlan } from '../plan-types.js';

/** The factor a phi(delta) of one difference, as text. */
export interface TermStep {
  /** Device functions. */
  readonly functions: string;
  /** Locals at the top of the kernel; they may read `p`. */
  readonly setup: string;
  /** Whether the setup reads `p`. */
  readonly usesP: boolean;
  readonly term: (delta: string, a: string) => string;
  /** Instructions of the arithmetic pipe and of the special-function unit, the difference included. */
  readonly issueSlots: number;
  readonly special: number;
}

/** Chooses the form of the factor from the plan's expression. */
export function termStep(plan: Pick<CudaCdistGradPlan, 'dtype' | 'phi' | 'power'>): TermStep {
  const phi = plan.phi;
  const single = plan.dtype === 'float32';
  if (phi === RUNTIME_DERIVATIVE) {
    if (!single) return accurateStep64();
    return plan.power === undefined || plan.power === 'accurate'
      ? accurateStep()
      : fastStep(plan.power);
  }
  if (single && phi === normDerivative(1)) return signStep();
  // select(delta == 0, 0, sign(delta) * magnitude)
  if (single && phi.op === 'select') return rootStep(phi.args[2]?.args[1] as RealExpr);
  return expressionStep(plan, phi);
}

const step = (text: string, counts: { issueSlots: number; special?: number }): TermStep => ({
  functions: text,
  setup: '',
  usesP: false,
  term: (delta, a) => `term(${delta}, ${a})`,
  special: 0,
  ...counts,
});

const powerStep = (
  text: string,
  setup: string,
  counts: { issueSlots: number; special?: number },
): TermStep => ({
  ...step(text, counts),
  setup,
  usesP: true,
  term: (delta, a) => `term(${delta}, ${a}, power)`,
});

/** p = 1: the sign of delta goes over to a; a zero and NaN are their own contribution. */
function signStep(): TermStep {
  return step(
    `__device__ __forceinline__ float term(float delta, float a) {
  const float signed_a = __int_as_float(__float_as_int(a) ^ (__float_as_int(delta) & 0x80000000));
  return fabsf(delta) > 0.0f ? signed_a : delta;
}`,
    { issueSlots: 4 },
  );
}

const WITH_SIGN = `// |r| is r
__device__ __forceinline__ float with_sign(float r, float delta) {
  return __int_as_float(__float_as_int(r) | (__float_as_int(delta) & 0x80000000));
}`;
const SMALLEST = cudaLiteral(2 ** -126, 'float32');

/** Products and roots of |delta| below p = 2; differences below the normal range count as 0. */
function rootStep(magnitude: RealExpr): TermStep {
  const inverted = magnitude.op === 'div' && magnitude.args[0] === constant(1);
  const power = inverted ? (magnitude.args[1] as RealExpr) : magnitude;
  const text = emitCudaExpression(power, {
    dtype: 'float32',
    bindings: { delta: 'delta' },
    approximateRoots: true,
  });
  const reciprocal = `__device__ __forceinline__ float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}`;
  const result = inverted ? `reciprocal(${text.result})` : text.result;
  return step(
    lines(
      cudaHelpers(text.helpers, 'float32'),
      inverted && reciprocal,
      WITH_SIGN,
      '__device__ __forceinline__ float term(float delta, float a) {',
      ...text.statements.map((line) => `  ${line}`),
      `  return fabsf(delta) < ${SMALLEST} ? 0.0f : with_sign(${result}, delta) * a;`,
      '}',
    ),
    {
      issueSlots: text.issueSlots + 5 + (inverted ? 1 : 0),
      special: text.special + (inverted ? 1 : 0),
    },
  );
}

/** Any expression, printed as it is. */
function expressionStep({ dtype }: Pick<CudaCdistGradPlan, 'dtype'>, phi: RealExpr): TermStep {
  const type = dtype === 'float32' ? 'float' : 'double';
  const text = emitCudaExpression(phi, {
    dtype,
    bindings: { delta: 'delta' },
    approximateRoots: true,
  });
  return step(
    lines(
      cudaHelpers(text.helpers, dtype),
      `__device__ __forceinline__ ${type} term(${type} delta, ${type} a) {`,
      ...text.statements.map((line) => `  ${line}`),
      `  return ${text.result} * a;`,
      '}',
    ),
    { issueSlots: text.issueSlots + 2, special: text.special },
  );
}

/** lg2.approx truncates: its results are this much too small, relatively, on average. */
const LOG2_BIAS = 0.75 * 2 ** -24;

/**
 * |delta|^(p - 1) by lg2 and ex2. The power of a zero difference, and of one below the normal range, comes out as 0
 * where p - 1 is positive, and is replaced by 0 where it is negative.
 */
function fastStep(power: 'fast' | 'fast-inverse'): TermStep {
  const inverse = power === 'fast-inverse';
  const result = 'with_sign(r, delta) * a';
  return powerStep(
    `${WITH_SIGN}
__device__ __forceinline__ float term(float delta, float a, float power) {
  float l, r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(l) : "f"(fabsf(delta)));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(l * power));
  return ${inverse ? `fabsf(delta) < ${SMALLEST} ? 0.0f : ${result}` : result};
}`,
    `const float power = (float)((p - 1.0) * ${1 + LOG2_BIAS});`,
    { issueSlots: inverse ? 6 : 4, special: 2 },
  );
}

/** An exponent of this size decides as an infinite one does, but has finite products. */
const MOST = { float32: '1e30', float64: '1e300' } as const;

const accurateSetup = (dtype: 'float32' | 'float64'): string => {
  const type = dtype === 'float32' ? 'float' : 'double';
  const infinity = cudaLiteral(Infinity, dtype);
  const lit = (value: number): string => cudaLiteral(value, dtype);
  return `const double exponent = fmin(fmax(p - 1.0, -${MOST[dtype]}), ${MOST[dtype]});
  const ${type} high = (${type})exponent;
  const Power power = {high, (${type})(exponent - (double)high), exponent > 0.0 ? ${infinity} : exponent < 0.0 ? ${lit(0)} : ${lit(1)}};`;
};

/**
 * |delta|^e by polynomials alone, for e of any sign: |delta| = 2^s (1 + g) with 1 + g in [3/4, 3/2), and
 * e s is exact inside a fused multiply-add. The exponent field of the result saturates to exactly 0 and
 * infinity; what is left of the range is cut so that its polynomial stays finite.
 */
function accurateStep(): TermStep {
  return powerStep(
    `struct Power { float high, low, at_infinity; };
${WITH_SIGN}
__device__ __forceinline__ float term(float delta, float a, Power e) {
  const float x = fabsf(delta);
  const int bits = __float_as_int(x), shift = (bits - 0x3f400000) >> 23;
  const float s = (float)shift, g = __int_as_float(bits - (shift << 23)) - 1.0f;
  const float l = g * ${horner(LOG2_FLOAT32, 'g', 'float32')};
  const float t = fminf(fmaxf(fmaf(e.high, s, e.high * l), -127.0f), 128.0f);
  const float n = t + 12583039.0f, whole = n - 12583039.0f;
  const float f = fminf(fmaxf(fmaf(e.high, l, fmaf(e.low, s, fmaf(e.high, s, -whole))), -1.0f), 1.0f);
  const float r = ${horner(EXP2_FLOAT32, 'f', 'float32')} * __int_as_float(__float_as_int(n) << 23);
  const float large = x > 3.40282347e+38f ? e.at_infinity : x;
  return x < ${SMALLEST} ? 0.0f : with_sign(x <= 3.40282347e+38f ? r : large, delta) * a;
}`,
    accurateSetup('float32'),
    { issueSlots: 46 },
  );
}

/** The same in double precision. */
function accurateStep64(): TermStep {
  return powerStep(
    `struct Power { double high, low, at_infinity; };
__device__ __forceinline__ double term(double delta, double a, Power e) {
  const double x = fabs(delta);
  const int top = __double2hiint(x), shift = (top - 0x3fe80000) >> 20;
  const double s = (double)shift, m = __hiloint2double(top - (shift << 20), __double2loint(x));
  const double d = m + 1.0, g = m - 1.0;
  double q;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(q) : "d"(d));
  q = fma(fma(-d, q, 1.0), q, q);
  q = fma(fma(-d, q, 1.0), q, q);
  const double v0 = g * q, v = fma(fma(-d, v0, g), q, v0), z = v * v;
  const double l = v * ${horner(LOG2_FLOAT64, 'z', 'float64')};
  const double t = fmin(fmax(fma(e.high, s, e.high * l), -1023.0), 1024.0);
  const double n = t + 6755399441056767.0, whole = n - 6755399441056767.0;
  const double f = fmin(fmax(fma(e.high, l, fma(e.low, s, fma(e.high, s, -whole))), -1.0), 1.0);
  const double r = ${horner(EXP2_FLOAT64, 'f', 'float64')} * __hiloint2double(__double2loint(n) << 20, 0);
  const double most = 1.7976931348623157e308;
  const double large = x > most ? e.at_infinity : x;
  const double value = x <= most ? r : large;
  return x < 2.2250738585072014e-308 ? 0.0 : (delta < 0.0 ? -value : value) * a;
}`,
    accurateSetup('float64'),
    { issueSlots: 62 },
  );
}
