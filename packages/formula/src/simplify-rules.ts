import { abs, add, log, lt, le, mul, neg, pow, select, sign, sub, tanh } from './constructors.js';
import { FLOAT64 } from './evaluate.js';
import type { Expr, RealExpr } from './expr.js';
import type { Op } from './op.js';
import { applyRule } from './rule-table.js';
import { powerOf } from './simplify-power.js';
import { simplifyProduct, simplifyQuotient } from './simplify-product.js';
import type { SimplifyRule } from './simplify-rule.js';
import { compareStructure } from './structural-order.js';

const keep: SimplifyRule = () => undefined;
const first = (node: Expr): RealExpr => node.args[0] as RealExpr;
const second = (node: Expr): RealExpr => node.args[1] as RealExpr;

/** One rule per operation. Constant folding happens before and is not repeated here. */
export const SIMPLIFY: { readonly [K in Op]: SimplifyRule } = {
  const: keep,
  var: keep,
  add: (node) => {
    const [a, b] = [first(node), second(node)];
    if (a.value === 0) return b;
    if (b.value === 0) return a;
    if (b.op === 'neg') return sub(a, first(b));
    if (a.op === 'neg') return sub(b, first(a));
    if (b.value !== undefined && b.value < 0) return sub(a, -b.value);
    if (a.value !== undefined && a.value < 0) return sub(b, -a.value);
    if (a === b) return mul(2, a);
    const [x, y] = [scaled(a), scaled(b)];
    // Coefficients of one sign only: 3 x - 2 x cancels, and differs where x is infinite.
    if (x.rest === y.rest && x.factor * y.factor > 0) return mul(x.factor + y.factor, x.rest);
    // A constant term reads better last; otherwise the order is by content.
    if (a.value !== undefined) return add(b, a);
    return b.value === undefined && compareStructure(a, b) > 0 ? add(b, a) : undefined;
  },
  sub: (node) => {
    const [a, b] = [first(node), second(node)];
    if (b.value === 0) return a;
    if (a.value === 0) return neg(b);
    if (b.op === 'neg') return add(a, first(b));
    if (b.value !== undefined && b.value < 0) return add(a, -b.value);
    return a.op === 'neg' ? neg(add(first(a), b)) : undefined;
  },
  mul: simplifyProduct,
  div: simplifyQuotient,
  neg: (node) => {
    const x = first(node);
    if (x.op === 'neg') return first(x);
    if (x.op === 'sub') return sub(second(x), first(x));
    const { factor, rest } = scaled(x);
    return factor === 1 ? undefined : mul(-factor, rest);
  },
  abs: (node, facts) => {
    const x = first(node);
    if (facts.isNonNegative(x)) return x;
    if (x.op === 'neg') return abs(first(x));
    const { factor, rest } = scaled(x);
    if (factor < 0) return abs(mul(-factor, rest));
    return x.op === 'sub' && compareStructure(first(x), second(x)) > 0
      ? abs(sub(second(x), first(x)))
      : undefined;
  },
  sign: (node) => {
    const x = first(node);
    if (x.op === 'neg') return neg(sign(first(x)));
    return x.op === 'sign' ? x : undefined;
  },
  sqrt: (node, facts) => {
    const x = first(node);
    if (x.op === 'mul' && first(x) === second(x)) return abs(first(x));
    const exponent = x.op === 'pow' ? second(x).value : undefined;
    return exponent !== undefined && facts.isNonNegative(first(x))
      ? pow(first(x), exponent / 2)
      : undefined;
  },
  rsqrt: keep,
  pow: powerOf,
  exp: (node, facts) => {
    const x = first(node);
    return x.op === 'log' && facts.isNonNegative(first(x)) ? first(x) : undefined;
  },
  log: (node) => {
    const x = first(node);
    if (x.op === 'exp') return first(x);
    return x.op === 'div' && first(x).value === 1 ? neg(log(second(x))) : undefined;
  },
  tanh: (node) => {
    const x = first(node);
    if (x.op === 'neg') return neg(tanh(first(x)));
    const { factor, rest } = scaled(x);
    return factor < 0 ? neg(tanh(mul(-factor, rest))) : undefined;
  },
  // Arguments of min and max keep their order: at a tie the derivative is the first one's.
  min: (node) => {
    const [a, b] = [first(node), second(node)];
    if (a === b || b.value === Infinity) return a;
    return a.value === Infinity ? b : undefined;
  },
  max: (node) => {
    const [a, b] = [first(node), second(node)];
    if (a === b || b.value === -Infinity) return a;
    return a.value === -Infinity ? b : undefined;
  },
  lt: keep,
  le: keep,
  gt: (node) => lt(second(node), first(node)),
  ge: (node) => le(second(node), first(node)),
  eq: keep,
  ne: keep,
  call: keep,
  select: (node) => {
    const [condition, a, b] = node.args as readonly [Expr, RealExpr, RealExpr];
    if (a === b) return a;
    const outcome = decided(condition);
    if (outcome !== undefined) return outcome ? a : b;
    if (a.op === 'select' && a.args[0] === condition)
      return select(condition as never, second(a), b);
    if (b.op === 'select' && b.args[0] === condition)
      return select(condition as never, a, b.args[2] as RealExpr);
    return selectedAbs(condition, a, b);
  },
};

/** The outcome of a comparison that does not depend on data. */
function decided(condition: Expr): boolean | undefined {
  const [a, b] = [first(condition), second(condition)];
  if (a.value !== undefined && b.value !== undefined) {
    return applyRule(FLOAT64, condition, [a.value, b.value]) !== 0;
  }
  // x < x is false for NaN too; x <= x and x == x are not decided by shape.
  return a === b && condition.op === 'lt' ? false : undefined;
}

/** `select(x < 0, -x, x)` and its three relatives are `abs(x)`. */
function selectedAbs(condition: Expr, a: RealExpr, b: RealExpr): RealExpr | undefined {
  if (condition.op !== 'lt' && condition.op !== 'le') return undefined;
  const [low, high] = [first(condition), second(condition)];
  const below = high.value === 0 ? low : undefined;
  const above = low.value === 0 ? high : undefined;
  if (below !== undefined && b === below && isNegated(a, below)) return abs(below);
  if (above !== undefined && a === above && isNegated(b, above)) return abs(above);
  return undefined;
}

function isNegated(candidate: RealExpr, x: RealExpr): boolean {
  return candidate.op === 'neg' && first(candidate) === x;
}

/** `factor * rest` with the factor 1 where there is no constant one. */
function scaled(x: RealExpr): { factor: number; rest: RealExpr } {
  const factor = x.op === 'mul' ? first(x).value : undefined;
  return factor === undefined ? { factor: 1, rest: x } : { factor, rest: second(x) };
}
