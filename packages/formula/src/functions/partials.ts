import { constant } from '../build.js';
import { add, div, eq, exp, mul, neg, rsqrt, select, sub } from '../constructors.js';
import type { RealExpr } from '../expr.js';
import { call } from './call.js';
import type { MathOp } from './math-ops.js';

/** Partial derivatives by the arguments; `undefined` is the structural zero. */
type PartialRule = (
  args: readonly [RealExpr, RealExpr],
  attributes: readonly [number, number],
  node: RealExpr,
) => readonly (RealExpr | undefined)[];

const none: PartialRule = () => [undefined];
const square = (x: RealExpr): RealExpr => mul(x, x);
const TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);

/** Each family is closed under differentiation: the sources of the formulas stand at the functions. */
const PARTIALS: { readonly [K in MathOp]: PartialRule } = {
  sin: ([x]) => [call('cos', [x])],
  cos: ([x]) => [neg(call('sin', [x]))],
  tan: (_, __, node) => [add(1, square(node))],
  asin: ([x]) => [rsqrt(sub(1, square(x)))],
  acos: ([x]) => [neg(rsqrt(sub(1, square(x))))],
  atan: ([x]) => [div(1, add(1, square(x)))],
  atan2: ([y, x]) => {
    const scale = call('radialPower', [add(square(x), square(y))], [-1]);
    return [mul(x, scale), neg(mul(y, scale))];
  },
  sinh: ([x]) => [call('cosh', [x])],
  cosh: ([x]) => [call('sinh', [x])],
  erf: ([x]) => [mul(TWO_OVER_ROOT_PI, exp(neg(square(x))))],
  erfc: ([x]) => [mul(-TWO_OVER_ROOT_PI, exp(neg(square(x))))],
  log1p: ([x]) => [div(1, add(1, x))],
  expm1: ([x]) => [exp(x)],
  // 1 / (1 + exp(-x)), written so that no derivative of it is infinity by infinity.
  softplus: ([x]) => [exp(neg(call('softplus', [neg(x)])))],
  lgamma: ([x]) => [call('polygamma', [x], [0])],
  polygamma: ([x], [order]) => [call('polygamma', [x], [order + 1])],
  floor: none,
  ceil: none,
  round: none,
  sinXDivX: ([x], [order]) => [call('sinXDivX', [x], [order + 1])],
  besselJ: ([x], [n]) =>
    n === 0
      ? [neg(call('besselJ', [x], [1]))]
      : [mul(0.5, sub(call('besselJ', [x], [n - 1]), call('besselJ', [x], [n + 1])))],
  besselK: ([x], [nu]) =>
    nu === 0
      ? [neg(call('besselK', [x], [1]))]
      : [mul(-0.5, add(call('besselK', [x], [nu - 1]), call('besselK', [x], [nu + 1])))],
  radialBesselK: ([u], [nu]) => [mul(-0.5, call('radialBesselK', [u], [nu - 1]))],
  radialWendland: ([s], [l, k]) => [mul(-0.5, call('radialWendland', [s], [l, k - 1]))],
  radialPower: ([s], [q]) => [q === 0 ? undefined : mul(q, call('radialPower', [s], [q - 1]))],
  radialLog: ([s], [q]) => {
    const power = call('radialPower', [s], [q - 1]);
    const slope = add(mul(q, call('radialLog', [s], [q - 1])), mul(0.5, power));
    // Where it is infinite at 0 it is 0 by convention, and not the half of s^0 that would be left.
    return [q <= 1 ? select(eq(s, 0), 0, slope) : slope];
  },
  oneAtZero: () => [constant(1), undefined],
};

/** The partial derivatives of a function, by argument; `undefined` where one is 0 everywhere. */
export function callPartials(
  fn: MathOp,
  args: readonly RealExpr[],
  attributes: readonly number[],
  node: RealExpr,
): readonly (RealExpr | undefined)[] {
  // One untyped step for the table: arity is checked when a node is built.
  return PARTIALS[fn](args as [RealExpr, RealExpr], attributes as [number, number], node);
}
