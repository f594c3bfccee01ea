import {
  div,
  eq,
  le,
  ge,
  log,
  mul,
  neg,
  pow,
  rsqrt,
  select,
  sign,
  sub,
  add,
} from './constructors.js';
import type { CallNode, Expr, ExprArgs, RealExpr } from './expr.js';
import { callPartials } from './functions/partials.js';
import type { Op } from './op.js';
import type { ArgResults } from './rule-table.js';

/** A derivative; `undefined` is the structural zero, which never meets an infinity. */
export type Derivative = RealExpr | undefined;

/** From the arguments, their derivatives and the node itself to the derivative of the node. */
export type DerivativeRule<K extends Op> = (
  args: ExprArgs<K>,
  d: ArgResults<K, Derivative>,
  node: RealExpr,
) => Derivative;

const none = (): undefined => undefined;

/** The sum of two derivatives, leaving structural zeros out. */
function plus(a: Derivative, b: Derivative): Derivative {
  if (a === undefined) return b;
  return b === undefined ? a : add(a, b);
}

/** `partial * d`, built only where `d` is not structurally zero. */
function times(d: Derivative, partial: () => RealExpr): Derivative {
  return d === undefined ? undefined : mul(partial(), d);
}

/** The branch of a selection; one side may be a structural zero. */
function choose(condition: Expr, a: Derivative, b: Derivative): Derivative {
  if (a === undefined && b === undefined) return undefined;
  return select(condition as never, a ?? 0, b ?? 0);
}

/** The one derivative table. Conventions at kinks are those the constructors document. */
export const DERIVATIVE: { readonly [K in Op]: DerivativeRule<K> } = {
  const: none,
  var: none,
  add: (_, [da, db]) => plus(da, db),
  sub: (_, [da, db]) => (da === undefined ? db && neg(db) : db === undefined ? da : sub(da, db)),
  mul: ([a, b], [da, db]) =>
    plus(
      times(da, () => b),
      times(db, () => a),
    ),
  div: ([, b], [da, db], node) =>
    plus(
      da && div(da, b),
      times(db, () => neg(div(node, b))),
    ),
  neg: (_, [dx]) => dx && neg(dx),
  abs: ([x], [dx]) => times(dx, () => sign(x)),
  sign: none,
  sqrt: ([x], [dx]) => times(dx, () => mul(0.5, rsqrt(x))),
  rsqrt: (_, [dx], node) => times(dx, () => mul(-0.5, mul(mul(node, node), node))),
  pow: ([base, exponent], [dBase, dExponent], node) =>
    plus(
      // x ^ 0 is 1 everywhere, and 0 x ^ -1 would be NaN at 0.
      exponent.value === 0 ? undefined : times(dBase, () => powerPartial(base, exponent)),
      // x ^ y log(x) is 0 at x = 0, as x log x is.
      times(dExponent, () => select(eq(base, 0), 0, mul(node, log(base)))),
    ),
  exp: (_, [dx], node) => times(dx, () => node),
  log: ([x], [dx]) => dx && div(dx, x),
  tanh: (_, [dx], node) => times(dx, () => sub(1, mul(node, node))),
  min: ([a, b], [da, db]) => choose(le(a, b), da, db),
  max: ([a, b], [da, db]) => choose(ge(a, b), da, db),
  lt: none,
  le: none,
  gt: none,
  ge: none,
  eq: none,
  ne: none,
  select: ([condition], [, da, db]) => choose(condition, da, db),
  call: (args, d, node) => {
    const { fn, attributes } = node as CallNode;
    return callPartials(fn, args, attributes, node)
      .map((partial, k) => partial && times(d[k], () => partial))
      .reduce(plus, undefined);
  },
};

/**
 * d(x ^ y)/dx = y x ^ (y - 1), inside a selection wherever x ^ (y - 1) may be infinite at x = 0: an
 * infinity would meet sign(0) = 0 in the derivative of |d| ^ y and give NaN, also in the derivatives
 * of this derivative. So every derivative of |d| ^ y by d or y is finite at d = 0 for every y > 0,
 * and the first is 0. Where that has no finite value at x = 0 although x ^ y is finite
 * (0 < y < 1) the derivative is 0 by convention, as sqrt's is. Poles (y < 0) stay poles where the
 * exponent is a constant.
 */
function powerPartial(base: RealExpr, exponent: RealExpr): RealExpr {
  const y = exponent.value;
  const plain = mul(exponent, pow(base, y === undefined ? sub(exponent, 1) : y - 1));
  if (y !== undefined) return y > 0 && y < 1 ? select(eq(base, 0), 0, plain) : plain;
  return select(eq(base, 0), select(eq(exponent, 1), 1, 0), plain);
}
