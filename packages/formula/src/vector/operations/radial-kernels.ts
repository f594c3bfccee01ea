import { integer, toVector, dimError } from '../check-arguments.js';
import { elementwise } from '../nodes.js';
import { gamma } from '../../functions/gamma.js';
import { radialWendland as wendlandValue } from '../../functions/radial.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';
import { add, div, mul, neg, square } from './arithmetic.js';
import { exp, real, rsqrt, sqrt } from './functions.js';

// Kernels of two points by their squared distance s, so that derivatives at coincident points are
// those of the closed forms: a chain through sqrt(s) would lose them.

const MAX_ORDER = 64;

/** A squared distance; anything else of dim 1 that is not negative will do. */
function squaredDistance(op: string, s: VectorOperand): VectorExpr {
  const arg = toVector(op, s);
  if (arg.dim === 1) return arg;
  throw dimError(
    op,
    `the squared distance has dim ${arg.dim}`,
    'Pass SqDist(x, y) or another formula of dim 1, not the points themselves.',
  );
}

/** `z^nu K_nu(z)` at `z = sqrt(u)`; derivative `-1/2` of the same with `nu - 1`. See `maternKernel`. */
export const radialBesselK = (u: VectorOperand, nu: number): VectorExpr =>
  elementwise('radialBesselK', [u], [real('RadialBesselK', 'nu', nu, -MAX_ORDER, MAX_ORDER)]);

/** Wendland's function before normalisation; derivative `-1/2` of the same with `k - 1`. */
export const radialWendland = (s: VectorOperand, l: number, k: number): VectorExpr =>
  elementwise(
    'radialWendland',
    [s],
    [
      integer('RadialWendland', 'l', l, 1, MAX_ORDER),
      integer('RadialWendland', 'k', k, -MAX_ORDER, 8),
    ],
  );

/** `s^q`, 0 at 0 by convention where that is infinite; derivative `q` times the same with `q - 1`. */
export const radialPower = (s: VectorOperand, q: number): VectorExpr =>
  elementwise('radialPower', [s], [real('RadialPower', 'q', q, -MAX_ORDER, MAX_ORDER)]);

/** `s^q log(s) / 2`, 0 at 0. */
export const radialLog = (s: VectorOperand, q: number): VectorExpr =>
  elementwise('radialLog', [s], [real('RadialLog', 'q', q, -MAX_ORDER, MAX_ORDER)]);

/**
 * A kernel `f` of the squared distance `s` that is 1 at `s = 0` and at most 1, without what rounding does to that: exactly 1 where
 * `s` is 0, and never above. The derivatives are those of `f`.
 */
export const oneAtZero = (f: VectorOperand, s: VectorOperand): VectorExpr =>
  elementwise('oneAtZero', [f, s]);

/** `exp(-s / (2 h^2))` */
export const gaussianKernel = (s: VectorOperand, h: VectorOperand): VectorExpr =>
  exp(neg(div(squaredDistance('Gaussian', s), mul(2, square(h)))));

/**
 * The Matérn kernel of order `nu > 0` and length h: `2^(1-nu) / Gamma(nu) z^nu K_nu(z)` with
 * `z = sqrt(2 nu s) / h`. `nu = 0.5` is `exp(-sqrt(s) / h)`. Derivatives by the points exist at
 * s = 0 up to order `2 nu` (exclusive), and are 0 beyond by convention. Exactly 1 at s = 0, and never above 1.
 */
export function maternKernel(s: VectorOperand, nu: number, h: VectorOperand): VectorExpr {
  real('Matern', 'nu', nu, 1e-3, MAX_ORDER);
  const u = div(mul(2 * nu, squaredDistance('Matern', s)), square(h));
  return oneAtZero(mul(1 / (2 ** (nu - 1) * gamma(nu)), radialBesselK(u, nu)), u);
}

/** `exp(-sqrt(s) / h)`; gradient 0 at coincident points, where it has none, by convention. */
export const exponentialKernel = (s: VectorOperand, h: VectorOperand): VectorExpr =>
  maternKernel(s, 0.5, h);

/** `exp(-(sqrt(s) / h)^p)`, p > 0. */
export function generalizedExponentialKernel(
  s: VectorOperand,
  p: number,
  h: VectorOperand,
): VectorExpr {
  real('GeneralizedExponential', 'p', p, 1e-3, MAX_ORDER);
  const scaled = div(squaredDistance('GeneralizedExponential', s), square(h));
  return exp(neg(radialPower(scaled, p / 2)));
}

/** `(1 + s / (2 alpha h^2))^-alpha` */
export function rationalQuadraticKernel(
  s: VectorOperand,
  alpha: number,
  h: VectorOperand,
): VectorExpr {
  real('RationalQuadratic', 'alpha', alpha, 1e-6, 1e6);
  const scaled = div(squaredDistance('RationalQuadratic', s), mul(2 * alpha, square(h)));
  return elementwise('pow', [add(1, scaled), -alpha]);
}

/** `1 / (1 + s / h^2)` */
export const cauchyKernel = (s: VectorOperand, h: VectorOperand): VectorExpr =>
  div(1, add(1, div(squaredDistance('Cauchy', s), square(h))));

/** `sqrt(1 + s / h^2)` */
export const multiquadricKernel = (s: VectorOperand, h: VectorOperand): VectorExpr =>
  sqrt(add(1, div(squaredDistance('Multiquadric', s), square(h))));

/** `1 / sqrt(1 + s / h^2)` */
export const inverseMultiquadricKernel = (s: VectorOperand, h: VectorOperand): VectorExpr =>
  rsqrt(add(1, div(squaredDistance('InverseMultiquadric', s), square(h))));

/** `r^k` for odd k and `r^k log r` for even k, r the distance: `k = 2` is the thin-plate spline. */
export function polyharmonicKernel(s: VectorOperand, k: number): VectorExpr {
  integer('Polyharmonic', 'k', k, 1, 32);
  const d2 = squaredDistance('Polyharmonic', s);
  return k % 2 === 0 ? radialLog(d2, k / 2) : radialPower(d2, k / 2);
}

/**
 * Wendland's kernel of support radius h that is positive definite up to `dimension` and has `2 k`
 * continuous derivatives; exactly 1 at s = 0, and never above 1.
 */
export function wendlandKernel(
  s: VectorOperand,
  dimension: number,
  k: number,
  h: VectorOperand,
): VectorExpr {
  integer('Wendland', 'dimension', dimension, 1, 32);
  integer('Wendland', 'k', k, 0, 8);
  const l = Math.floor(dimension / 2) + k + 1;
  const scaled = div(squaredDistance('Wendland', s), square(h));
  return oneAtZero(mul(1 / wendlandValue(l, k, 0), radialWendland(scaled, l, k)), scaled);
}
