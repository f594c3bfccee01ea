import { integer } from '../check-arguments.js';
import { elementwise, literal } from '../nodes.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';

type One = [x: VectorOperand];
type Two = [f: VectorOperand, g: VectorOperand];

/** `f + g`; here and below, an argument of dim 1 is repeated. */
export const add = (...args: Two): VectorExpr => elementwise('add', args);
/** `f - g` */
export const sub = (...args: Two): VectorExpr => elementwise('sub', args);
/** `f * g`, component by component. */
export const mul = (...args: Two): VectorExpr => elementwise('mul', args);
/** `f / g` */
export const div = (...args: Two): VectorExpr => elementwise('div', args);
/** `-x` */
export const neg = (...args: One): VectorExpr => elementwise('neg', args);
/** `x * x` */
export const square = (...args: One): VectorExpr => elementwise('square', args);
/** `1 / x` */
export const inv = (...args: One): VectorExpr => elementwise('inv', args);
/** `f ^ g` for real exponents, as IEEE 754 defines pow; 0 derivative by g at f = 0. */
export const powf = (...args: Two): VectorExpr => elementwise('pow', args);

/** `x ^ n` for an integer n; `n = 2` is `square(x)`. */
export function pow(x: VectorOperand, n: number): VectorExpr {
  integer('Pow', 'exponent', n, -1024, 1024);
  return n === 2 ? square(x) : elementwise('pow', [x, n]);
}

/** The fraction `p / q`, dim 1. */
export function ratio(p: number, q: number): VectorExpr {
  integer('RatCst', 'numerator', p, -(2 ** 53), 2 ** 53);
  integer('RatCst', 'denominator', Math.abs(q), 1, 2 ** 53);
  return literal(p / q);
}

/** 1 where `f == g`, else 0; 0 where either is NaN. Comparisons have derivative 0. */
export const equal = (...args: Two): VectorExpr => elementwise('eq', args);
/** 1 where `f != g`, else 0; 1 where either is NaN. */
export const notEqual = (...args: Two): VectorExpr => elementwise('ne', args);
/** 1 where `f < g`, else 0. */
export const lessThan = (...args: Two): VectorExpr => elementwise('lt', args);
/** 1 where `f <= g`, else 0. */
export const lessOrEqual = (...args: Two): VectorExpr => elementwise('le', args);
/** 1 where `f > g`, else 0. */
export const greaterThan = (...args: Two): VectorExpr => elementwise('gt', args);
/** 1 where `f >= g`, else 0. */
export const greaterOrEqual = (...args: Two): VectorExpr => elementwise('ge', args);
