import type { Expr } from '@mercer/formula';

/** Functions of float32 that `fastMath` computes in other ways than by default. */
export type FastHelper =
  'fastDivide' | 'fastLog' | 'fastPow' | 'fastTanh' | 'fastSin' | 'fastCos' | 'fastSqrt';

/** True for a helper of this file. */
export const isFastHelper = (helper: string): helper is FastHelper =>
  Object.hasOwn(FAST_TEXTS, helper);

const special = (instruction: string, to: string, x: string): string =>
  `asm("${instruction}.approx.ftz.f32 %0, %1;" : "=f"(${to}) : "f"(${x}));`;

const circular = (name: 'sin' | 'cos'): string => `// ${name} x within 20 u, for |x| <= 1e5
__device__ __forceinline__ float fast_${name}(float x) {
  const float n = rintf(x * 0.159154937f);
  const float turned = fmaf(n, 1.74845553e-7f, fmaf(n, -6.28318548f, x));
  float r;
  ${special(name, 'r', 'turned')}
  return r;
}`;

/**
 * By the instructions of the special-function unit, whose errors the PTX manual gives: ex2 2^-22.5, relative; lg2 2^-22, absolute between 1/2
 * and 2 and relative elsewhere; div 2 units in the last place; sqrt 2^-23; sin and cos 2^-20.5, absolute, within a turn. Denormal numbers
 * count as 0. u is 2^-24.
 */
export const FAST_TEXTS: { readonly [H in FastHelper]: string } = {
  fastDivide: `// x / y within 4 u; 0 where |y| > 2^126
__device__ __forceinline__ float fast_divide(float x, float y) {
  float r;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}`,
  fastLog: `// log x within (3 + 6 |log x|) u
__device__ __forceinline__ float fast_log(float x) {
  float r;
  ${special('lg2', 'r', 'x')}
  return r * 0.693147182f;
}`,
  fastPow: `// x^y within (3 + 3 |y| + 4 |y log2 x|) u of it, for x >= 0; 0 below the normal range, NaN for x < 0
__device__ __forceinline__ float fast_pow(float x, float y) {
  float l, r;
  ${special('lg2', 'l', 'x')}
  ${special('ex2', 'r', 'y * l')}
  return y == 0.0f ? 1.0f : r;
}`,
  fastTanh: `// tanh x within 8 u, absolute
__device__ __forceinline__ float fast_tanh(float x) {
  float e, r;
  ${special('ex2', 'e', 'x * 2.88539004f')}
  ${special('rcp', 'r', 'e + 1.0f')}
  return fmaf(-2.0f, r, 1.0f);
}`,
  fastSin: circular('sin'),
  fastCos: circular('cos'),
  fastSqrt: `// sqrt(x) within 2 u; NaN for x < 0
__device__ __forceinline__ float fast_sqrt(float x) {
  float r;
  ${special('sqrt', 'r', 'x')}
  return r;
}`,
};

/** How a node is written with `fastMath`, and what it calls; undefined where it is written as ever. */
export function fastText(
  node: Expr,
  args: readonly string[],
  nonNegative: (node: Expr) => boolean,
): { readonly text: string; readonly helper: FastHelper } | undefined {
  const call = (helper: FastHelper, name: string) => ({
    text: `fast_${name}(${args.join(', ')})`,
    helper,
  });
  switch (node.op) {
    case 'div':
      return call('fastDivide', 'divide');
    case 'log':
      return call('fastLog', 'log');
    case 'tanh':
      return call('fastTanh', 'tanh');
    case 'sqrt':
      return call('fastSqrt', 'sqrt');
    case 'pow':
      return nonNegative(node.args[0] as Expr) ? call('fastPow', 'pow') : undefined;
    case 'call':
      if (node.fn === 'sin') return call('fastSin', 'sin');
      return node.fn === 'cos' ? call('fastCos', 'cos') : undefined;
    default:
      return undefined;
  }
}
