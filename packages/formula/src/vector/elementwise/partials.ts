import { differentiate } from '../../differentiate.js';
import type { RealExpr } from '../../expr.js';
import { add, equal, inv, mul, neg, square, sub } from '../operations/arithmetic.js';
import {
  besselJ,
  besselK,
  cos,
  cosh,
  exp,
  logistic,
  polygamma,
  rsqrt,
  sin,
  sinh,
  sinXDivX,
  where,
} from '../operations/functions.js';
import {
  radialBesselK,
  radialLog,
  radialPower,
  radialWendland,
} from '../operations/radial-kernels.js';
import type { ElementwiseNode, VectorExpr } from '../vector-expr.js';
import { lift } from './lift.js';
import type { MathOp } from './math-ops.js';
import { argumentName, isDefinedOp, isSharedOp, scalarOf } from './scalar-of.js';

/** A partial derivative by one argument; `undefined` is the structural zero. */
type Partial = VectorExpr | undefined;
type PartialRule = (
  args: readonly [VectorExpr, VectorExpr],
  attributes: readonly [number, number],
  node: VectorExpr,
) => readonly Partial[];

const none: PartialRule = () => [undefined];
const TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);

/** Partial derivatives of the functions that the scalar language does not have. */
const MATH_PARTIALS: { readonly [K in MathOp]: PartialRule } = {
  sin: ([x]) => [cos(x)],
  cos: ([x]) => [neg(sin(x))],
  tan: (_, __, node) => [add(1, square(node))],
  asin: ([x]) => [rsqrt(sub(1, square(x)))],
  acos: ([x]) => [neg(rsqrt(sub(1, square(x))))],
  atan: ([x]) => [inv(add(1, square(x)))],
  atan2: ([y, x]) => {
    const scale = radialPower(add(square(x), square(y)), -1);
    return [mul(x, scale), neg(mul(y, scale))];
  },
  sinh: ([x]) => [cosh(x)],
  cosh: ([x]) => [sinh(x)],
  erf: ([x]) => [mul(TWO_OVER_ROOT_PI, exp(neg(square(x))))],
  erfc: ([x]) => [mul(-TWO_OVER_ROOT_PI, exp(neg(square(x))))],
  log1p: ([x]) => [inv(add(1, x))],
  expm1: ([x]) => [exp(x)],
  softplus: ([x]) => [logistic(x)],
  lgamma: ([x]) => [polygamma(x, 0)],
  polygamma: ([x], [order]) => [polygamma(x, order + 1)],
  floor: none,
  ceil: none,
  round: none,
  sinXDivX: ([x], [order]) => [sinXDivX(x, order + 1)],
  besselJ: ([x], [n]) =>
    n === 0 ? [neg(besselJ(x, 1))] : [mul(0.5, sub(besselJ(x, n - 1), besselJ(x, n + 1)))],
  besselK: ([x], [nu]) =>
    nu === 0 ? [neg(besselK(x, 1))] : [mul(-0.5, add(besselK(x, nu - 1), besselK(x, nu + 1)))],
  radialBesselK: ([u], [nu]) => [mul(-0.5, radialBesselK(u, nu - 1))],
  radialWendland: ([s], [l, k]) => [mul(-0.5, radialWendland(s, l, k - 1))],
  radialPower: ([s], [q]) => [q === 0 ? undefined : mul(q, radialPower(s, q - 1))],
  radialLog: ([s], [q]) => {
    const slope = add(mul(q, radialLog(s, q - 1)), mul(0.5, radialPower(s, q - 1)));
    // Where it is infinite at 0 it is 0 by convention, and not the half of s^0 that would be left.
    return [q <= 1 ? where(equal(s, 0), 0, slope) : slope];
  },
};

/** Slopes of operations without literal arguments: as many as there are operations and arguments. */
const knownSlopes = new Map<string, RealExpr>();

function scalarSlope(node: ElementwiseNode, k: number): RealExpr {
  const slope = (): RealExpr => differentiate(scalarOf(node)!, argumentName(k));
  if (node.args.some((arg) => arg.kind === 'literal')) return slope();
  const key = `${node.op}:${k}`;
  const known = knownSlopes.get(key) ?? slope();
  knownSlopes.set(key, known);
  return known;
}

/**
 * The derivative of an elementwise node by argument `k`, component by component; undefined where it
 * is 0 everywhere. Operations of the scalar language and names for its expressions take it from the
 * scalar derivative table.
 */
export function partial(node: ElementwiseNode, k: number): VectorExpr | undefined {
  const { op, args, attributes } = node;
  // The scalar rule would be exp(-x) / (1 + exp(-x))^2, which is infinity by infinity far out.
  if (op === 'logistic') return sub(node, square(node));
  if (isSharedOp(op) || isDefinedOp(op)) {
    const slope = scalarSlope(node, k);
    return slope.value === 0 ? undefined : lift(slope, args);
  }
  const rule = MATH_PARTIALS[op];
  return rule(args as [VectorExpr, VectorExpr], attributes as [number, number], node)[k];
}
