import { FormulaError } from '../../formula-error.js';
import { integer } from '../check-arguments.js';
import { elementwise } from '../nodes.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';
import { add, div, mul, sub } from './arithmetic.js';

type One = [x: VectorOperand];
type Two = [f: VectorOperand, g: VectorOperand];
const MAX_ORDER = 64;

/** `e ^ x` */
export const exp = (...args: One): VectorExpr => elementwise('exp', args);
/** Natural logarithm. */
export const log = (...args: One): VectorExpr => elementwise('log', args);
/** `x log(x)`, 0 at 0; its derivative `log(x) + 1` is 0 at 0 by convention. */
export const xlogx = (...args: One): VectorExpr => elementwise('xlogx', args);
/** Square root; derivative 0 at 0 by convention. */
export const sqrt = (...args: One): VectorExpr => elementwise('sqrt', args);
/** `1 / sqrt(x)`, 0 at 0 by convention. */
export const rsqrt = (...args: One): VectorExpr => elementwise('rsqrt', args);
/** `|x|`, with derivative 0 at 0. */
export const abs = (...args: One): VectorExpr => elementwise('abs', args);
/** -1, 0 or 1, with derivative 0. */
export const sign = (...args: One): VectorExpr => elementwise('sign', args);
/** 1 where `x >= 0`, else 0, with derivative 0. */
export const step = (...args: One): VectorExpr => elementwise('step', args);
/** `max(x, 0)`, with derivative 1 at 0. */
export const relu = (...args: One): VectorExpr => elementwise('relu', args);
export const sin = (...args: One): VectorExpr => elementwise('sin', args);
export const cos = (...args: One): VectorExpr => elementwise('cos', args);
export const tan = (...args: One): VectorExpr => elementwise('tan', args);
/** Arc sine; derivative 0 at -1 and 1 by convention. */
export const asin = (...args: One): VectorExpr => elementwise('asin', args);
/** Arc cosine; derivative 0 at -1 and 1 by convention. */
export const acos = (...args: One): VectorExpr => elementwise('acos', args);
export const atan = (...args: One): VectorExpr => elementwise('atan', args);
/** The angle of the point (g, f); derivative 0 at the origin by convention. */
export const atan2 = (...args: Two): VectorExpr => elementwise('atan2', args);
export const sinh = (...args: One): VectorExpr => elementwise('sinh', args);
export const cosh = (...args: One): VectorExpr => elementwise('cosh', args);
export const tanh = (...args: One): VectorExpr => elementwise('tanh', args);
/** `1 / (1 + e ^ -x)` */
export const logistic = (...args: One): VectorExpr => elementwise('logistic', args);
/** `log(1 + x)` */
export const log1p = (...args: One): VectorExpr => elementwise('log1p', args);
/** `e ^ x - 1` */
export const expm1 = (...args: One): VectorExpr => elementwise('expm1', args);
/** The error function. */
export const erf = (...args: One): VectorExpr => elementwise('erf', args);
/** `1 - erf(x)` without cancellation. */
export const erfc = (...args: One): VectorExpr => elementwise('erfc', args);
/** `log |Gamma(x)|` */
export const lgamma = (...args: One): VectorExpr => elementwise('lgamma', args);
/** The largest integer not above x, with derivative 0. */
export const floor = (...args: One): VectorExpr => elementwise('floor', args);
/** The smallest integer not below x, with derivative 0. */
export const ceil = (...args: One): VectorExpr => elementwise('ceil', args);
/** The smaller of both; NaN if either is. At a tie the derivative is the first one's. */
export const minimum = (...args: Two): VectorExpr => elementwise('min', args);
/** The larger of both; NaN if either is. At a tie the derivative is the first one's. */
export const maximum = (...args: Two): VectorExpr => elementwise('max', args);

/** Derivative number `order + 1` of `log Gamma`: digamma for order 0. */
export const polygamma = (x: VectorOperand, order: number): VectorExpr =>
  elementwise('polygamma', [x], [integer('Polygamma', 'order', order, 0, MAX_ORDER)]);

/** Bessel function of the first kind of integer order. */
export const besselJ = (x: VectorOperand, order: number): VectorExpr =>
  elementwise('besselJ', [x], [integer('BesselJ', 'order', order, -MAX_ORDER, MAX_ORDER)]);

/** Modified Bessel function of the second kind of real order, for x > 0. */
export const besselK = (x: VectorOperand, order: number): VectorExpr =>
  elementwise('besselK', [x], [real('BesselK', 'order', order, -MAX_ORDER, MAX_ORDER)]);

/** Derivative number `order` of `sin(x) / x`, by default the function; 1 at 0. */
export const sinXDivX = (x: VectorOperand, order = 0): VectorExpr =>
  elementwise('sinXDivX', [x], [integer('SinXDivX', 'order', order, 0, MAX_ORDER)]);

/** `x` to so many decimals, half away from zero, with derivative 0. */
export const round = (x: VectorOperand, decimals = 0): VectorExpr =>
  elementwise('round', [x], [integer('Round', 'decimals', decimals, -300, 300)]);

/** `x - n floor((x - offset) / n)`: x moved by multiples of n into [offset, offset + n). */
export const mod = (x: VectorOperand, n: VectorOperand, offset: VectorOperand = 0): VectorExpr =>
  sub(x, mul(n, floor(div(offset === 0 ? x : sub(x, offset), n))));

/** `x` held between a and b; its derivative is 1 on the closed interval, else that of the bound. */
export const clamp = (x: VectorOperand, a: VectorOperand, b: VectorOperand): VectorExpr =>
  elementwise('clamp', [x, a, b]);

/** `x` held between two integers. */
export const clampInt = (x: VectorOperand, a: number, b: number): VectorExpr =>
  clamp(x, safeInteger('ClampInt', a), safeInteger('ClampInt', b));

/** The derivative of {@link clampInt}: 1 on the closed interval, 0 outside. */
export const diffClampInt = (x: VectorOperand, a: number, b: number): VectorExpr =>
  mul(
    elementwise('ge', [x, safeInteger('DiffClampInt', a)]),
    elementwise('le', [x, safeInteger('DiffClampInt', b)]),
  );

/** `a` where `f >= 0`, else `b`; no derivative by f. */
export const ifElse = (f: VectorOperand, a: VectorOperand, b: VectorOperand): VectorExpr =>
  elementwise('ifElse', [f, a, b]);

/** `a` where `f` is not 0, else `b`: for comparisons. The other value, NaN or not, is not seen. */
export const where = (f: VectorOperand, a: VectorOperand, b: VectorOperand): VectorExpr =>
  elementwise('select', [f, a, b]);

/** `sin(pi x) / (pi x)`, 1 at 0. */
export const sinc = (x: VectorOperand): VectorExpr => sinXDivX(mul(Math.PI, x));

/** `log(1 + e ^ x)` without overflow; its derivative is `logistic(x)`. */
export const softplus = (...args: One): VectorExpr => elementwise('softplus', args);

/** `log(e ^ f + e ^ g)` without overflow, for finite f. */
export const logAddExp = (f: VectorOperand, g: VectorOperand): VectorExpr =>
  add(f, softplus(sub(g, f)));

const safeInteger = (op: string, n: number): number =>
  integer(op, 'a bound', n, -(2 ** 53), 2 ** 53);

/** A finite number between `least` and `most`. Throws `FormulaError` with code `INVALID_ARGUMENT`. */
export function real(op: string, name: string, value: number, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `cannot build ${op}: ${name} is ${value} and must be a number from ${least} to ${most}. Pass such a number.`,
  );
}
