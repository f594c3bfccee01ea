import { abs, isNonNegative, pow, sub, variable, variables, type RealExpr } from '@mercer/formula';
import { cudaLiteral, cudaType } from '../../emit/cuda-literal.js';
import { cudaHelpers, horner, type CudaHelper } from '../../emit/cuda-math.js';
import { emitCudaExpression } from '../../emit/cuda-expression.js';
import { lines } from '../../emit/indent.js';
import { EXP2_FLOAT32 } from '../../emit/polynomials.js';
import { readValue, renameParameters, valueFunction } from './parameters.js';
import { splitUniforms } from './uniforms.js';
import { fromJson } from '../expression-json.js';
import type { CudaPairwisePlan } from '../plan-types.js';

/** What one pair (row element x, column element y) adds to its accumulator, as text. */
export interface PairStep {
  /** Math helpers that the step and the epilogue need. */
  readonly helpers: ReadonlySet<CudaHelper>;
  /** Device functions. */
  readonly functions: string;
  /** Locals at the top of the kernel; they may read the parameters `k` and `p`. */
  readonly setup: string;
  /** Whether `setup` reads the parameters of a batch entry, and so needs `layer`. */
  readonly perLayer?: boolean;
  /** The new accumulator for one pair; `place` is the pair's number in the thread's tile. */
  readonly step: (accumulator: string, x: string, y: string, place: string) => string;
  /** Two partial accumulators into one. */
  readonly combine: (x: string, y: string) => string;
  /** Instructions of the arithmetic pipe and of the special-function unit per pair. */
  readonly slots: number;
  readonly special: number;
}

const a = variable('a');
const b = variable('b');
const distance = abs(sub(a, b));
const power = pow(distance, variable('p'));

/** Chooses the form of the pair's arithmetic from the plan's inner expression. */
export function pairStep(plan: CudaPairwisePlan): PairStep {
  const inner = fromJson(plan.inner) as RealExpr;
  if (plan.dtype === 'float32' && plan.reduce === 'sum') {
    if (inner === distance) return absoluteStep();
    if (inner === power && plan.power !== undefined) {
      const { path, polynomialEighths } = plan.power;
      if (path === 'fast') return fastPowerStep(polynomialEighths);
      const { exponent } = renameParameters(inner, plan);
      return accuratePowerStep(exponent === undefined ? undefined : readValue(exponent, 'layer'));
    }
  }
  return generalStep(plan, inner);
}

/**
 * |x - y| as a fused multiply-add with a factor that only the hardware knows to be 1: an addition
 * and a multiply-add issue faster than two additions.
 */
export function absoluteStep(): PairStep {
  return {
    helpers: new Set(),
    functions: `__device__ __forceinline__ float accumulate(float sum, float x, float y, float one) {
  return sum + fabsf(fmaf(x, one, -y));
}`,
    setup: 'const float one = k < 0 ? 0.0f : 1.0f;',
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y}, one)`,
    combine: (x, y) => `${x} + ${y}`,
    slots: 2,
    special: 0,
  };
}

/** lg2.approx truncates: its results are this much too small, relatively, on average. */
const LOG2_BIAS = 0.75 * 2 ** -24;

/**
 * |x - y|^p by lg2 and ex2. The special-function unit would be the limit, so part of the columns
 * take 2^t from a polynomial: t = n + f by rounding, the exponent field from n saturated to
 * [-127, 128] (so that it is exactly 0 or infinity at the ends), log2 of 0 lifted to a finite number
 * below the range so that f stays finite, and NaN passing through f.
 */
export function fastPowerStep(eighths: number): PairStep {
  const magic = 12582912;
  return {
    helpers: new Set(),
    functions: `struct Power { float p, low, scaled, lowest; };
__device__ __forceinline__ float log2_distance(float x, float y) {
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
  const float n = fmaf(exponent, 255.0f, ${cudaLiteral(magic, 'float32')});
  const float f = fmaf(l, c.low, fmaf(l, c.p, ${cudaLiteral(magic + 127, 'float32')} - n));
  const float r = ${horner(EXP2_FLOAT32, 'f', 'float32')};
  return fmaf(r, __int_as_float(__float_as_int(n) << 23), sum);
}`,
    // p in two parts, the lower one above 0, so that both products of an infinite logarithm agree
    setup: `const double exponent = p * ${String(1 + LOG2_BIAS)};
  float high = (float)exponent;
  if ((double)high >= exponent) high = __int_as_float(__float_as_int(high) - 1);
  const Power power = {high, (float)(exponent - (double)high), (float)(p / 255.0), (float)(-256.0 / p)};`,
    step: (sum, x, y, place) =>
      eighths === 0
        ? `add_special(${sum}, ${x}, ${y}, power)`
        : `(${place}) * ${String(eighths)} % 8 < ${String(eighths)} ? add_polynomial(${sum}, ${x}, ${y}, power) : add_special(${sum}, ${x}, ${y}, power)`,
    combine: (x, y) => `${x} + ${y}`,
    slots: 6 + (9 * eighths) / 8,
    special: 2 - eighths / 8,
  };
}

/**
 * |x - y|^p by polynomials alone: d = 2^e m with m in [3/4, 3/2), and p e is exact inside a fused
 * multiply-add, so the error does not grow with |log2 d|. Zero, infinity, NaN and denormals are their
 * own powers.
 */
export function accuratePowerStep(exponent?: string): PairStep {
  const [name, declaration] =
    exponent === undefined ? ['p', ''] : ['exponent', `const double exponent = ${exponent};\n  `];
  return {
    helpers: new Set(['powPositive']),
    functions: `struct Power { float p, low; };
__device__ __forceinline__ float accumulate(float sum, float x, float y, Power c) {
  return sum + pow_positive(fabsf(x - y), c.p, c.low);
}`,
    setup: `${declaration}const Power power = {(float)${name}, (float)(${name} - (double)(float)${name})};`,
    ...(exponent === undefined ? {} : { perLayer: true }),
    step: (sum, x, y) => `accumulate(${sum}, ${x}, ${y}, power)`,
    combine: (x, y) => `${x} + ${y}`,
    slots: 35,
    special: 0,
  };
}

/** Any expression, printed as it is. */
function generalStep(plan: CudaPairwisePlan, inner: RealExpr): PairStep {
  const type = cudaType(plan.dtype);
  const split = splitUniforms(inner, plan, 'StepUniforms');
  const usesP = split === undefined && variables(inner).includes('p');
  const [rows, columns] = plan.swapped ? ['b', 'a'] : ['a', 'b'];
  const text = emitCudaExpression(split?.expr ?? inner, {
    dtype: plan.dtype,
    bindings: { [rows]: 'x', [columns]: 'y' },
    uniform: ['p'],
    positive: ['p'],
    ...split?.options,
    approximateRoots: true,
  });
  const helpers = new Set(text.helpers);
  if (plan.reduce === 'max') helpers.add('max');
  const combine = (x: string, y: string): string =>
    plan.reduce === 'max' ? `max_nan(${x}, ${y})` : `${x} + ${y}`;
  const uniforms = split === undefined ? '' : `, const ${split.type}& uniforms`;
  return {
    helpers,
    functions: `${split === undefined ? '' : `${split.text}\n`}__device__ __forceinline__ ${type} accumulate(${type} total, ${type} x, ${type} y${usesP ? ', double p' : ''}${uniforms}) {
${(split?.locals ?? [])
  .concat(text.uniformStatements, text.statements)
  .map((line) => `  ${line}`)
  .join('\n')}
  return ${combine('total', text.result)};
}`,
    setup: split === undefined ? '' : `const ${split.type} stepUniforms = ${split.value('layer')};`,
    ...(split === undefined ? {} : { perLayer: true }),
    step: (total, x, y) =>
      `accumulate(${total}, ${x}, ${y}${usesP ? ', p' : ''}${split === undefined ? '' : ', stepUniforms'})`,
    combine,
    slots: text.slots + 1,
    special: text.special,
  };
}

/** The outer expression as a device function, and how a kernel calls it. */
export interface FinishFunction {
  readonly text: string;
  readonly helpers: ReadonlySet<CudaHelper>;
  readonly slots: number;
  /** A call, as text. */
  readonly call: (value: string) => string;
  /** Locals that calls need, for a batch entry; '' where there are none. */
  readonly setup: (layer: string) => string;
}

/** The outer expression as a device function `finish(s, p)`, with what it needs. */
export function finishFunction(plan: CudaPairwisePlan): FinishFunction {
  const type = cudaType(plan.dtype);
  const outer = fromJson(plan.outer);
  const split = splitUniforms(outer, plan, 'FinishUniforms');
  const options = { uniform: ['p'], positive: ['p'], ...split?.options };
  // a sum or maximum of non-negative terms is non-negative; one of products is not
  const reduced = isNonNegative(fromJson(plan.inner)) ? ['s'] : [];
  const text = emitCudaExpression(split?.expr ?? outer, {
    dtype: plan.dtype,
    bindings: { s: 's' },
    ...options,
    nonNegative: [...reduced, ...(split?.options.nonNegative ?? [])],
  });
  const argument = split === undefined ? 'double p' : `const ${split.type}& uniforms`;
  return {
    text: lines(
      split?.text,
      `__device__ __forceinline__ ${type} finish(${type} s, ${argument}) {`,
      ...(split?.locals ?? [])
        .concat(text.uniformStatements, text.statements)
        .map((line) => `  ${line}`),
      `  return ${text.result};`,
      '}',
    ),
    helpers: new Set(text.helpers),
    slots: text.slots,
    call: (value) => `finish(${value}, ${split === undefined ? 'p' : 'finishUniforms'})`,
    setup: (layer) =>
      split === undefined ? '' : `const ${split.type} finishUniforms = ${split.value(layer)};`,
  };
}

/** Helpers, step and epilogue: the functions in front of every kernel of a plan. */
export function pairFunctions(plan: CudaPairwisePlan, step: PairStep): string {
  const finish = finishFunction(plan);
  return lines(
    cudaHelpers(new Set([...step.helpers, ...finish.helpers]), plan.dtype),
    plan.parameters !== undefined && valueFunction(plan.dtype),
    step.functions,
    finish.text,
  );
}
