import { abs, div, mul, neg } from './constructors.js';
import type { RealExpr } from './expr.js';
import type { SimplifyRule } from './simplify-rule.js';
import { compareStructure } from './structural-order.js';

const operands = (node: { readonly args: readonly unknown[] }): [RealExpr, RealExpr] => [
  node.args[0] as RealExpr,
  node.args[1] as RealExpr,
];

/** Products: units and signs out, one constant in front, equal factors side by side. */
export const simplifyProduct: SimplifyRule = (node, facts) => {
  const [a, b] = operands(node);
  if (a.value === 1) return b;
  if (b.value === 1) return a;
  if (a.value === -1) return neg(b);
  if (b.value === -1) return neg(a);
  if (a.op === 'neg') return neg(mul(a.args[0] as RealExpr, b));
  if (b.op === 'neg') return neg(mul(a, b.args[0] as RealExpr));
  if (b.value !== undefined) return mul(b, a);
  const merged = mergeConstants(a, b) ?? mergeEqual(a, b, facts);
  if (merged !== undefined) return merged;
  if (a.value !== undefined) return undefined;
  return order(a, b);
};

/** Constants move to the front and multiply there, unless that leaves the normal range. */
function mergeConstants(a: RealExpr, b: RealExpr): RealExpr | undefined {
  if (b.op === 'mul') {
    const [factor, rest] = operands(b);
    if (isMovable(factor)) {
      if (a.value === undefined) return mul(factor, mul(a, rest));
      const product = a.value * factor.value;
      return isMovable(a) && isSafe(product) ? mul(product, rest) : undefined;
    }
  }
  if (a.op === 'mul') {
    const [factor, rest] = operands(a);
    if (isMovable(factor)) return mul(factor, mul(rest, b));
  }
  return undefined;
}

/**
 * `|x| * |x|` is `x * x`, `sqrt(x) * sqrt(x)` is `x` where x is not negative, and a sign is taken
 * up by a factor that has the absolute value: the products that derivatives of norms consist of.
 */
function mergeEqual(
  a: RealExpr,
  b: RealExpr,
  facts: Parameters<SimplifyRule>[1],
): RealExpr | undefined {
  const inner = a.args[0] as RealExpr | undefined;
  if (a === b && a.op === 'abs' && inner !== undefined) return mul(inner, inner);
  if (a === b && a.op === 'sqrt' && inner !== undefined && facts.isNonNegative(inner)) return inner;
  for (const [s, x] of [
    [a, b],
    [b, a],
  ] as const) {
    const merged = s.op === 'sign' ? signed(s.args[0] as RealExpr, x) : undefined;
    if (merged !== undefined) return merged;
  }
  return undefined;
}

/** How many products deep a sign looks for its factor, so that long products stay cheap. */
const SIGN_REACH = 4;

/**
 * `sign(x) * product` without the sign, where a factor (of a quotient, of its numerator) takes it:
 * `|x|` becomes `x`; if there is none, `x` becomes `|x|`. So `sign(x) * (x * x)` is `x * |x|`.
 * Undefined where no factor takes it.
 */
function signed(x: RealExpr, product: RealExpr): RealExpr | undefined {
  return (
    replaceFactor(product, (factor) =>
      factor.op === 'abs' && factor.args[0] === x ? x : undefined,
    ) ?? replaceFactor(product, (factor) => (factor === x ? abs(x) : undefined))
  );
}

function replaceFactor(
  product: RealExpr,
  replacement: (factor: RealExpr) => RealExpr | undefined,
  reach = SIGN_REACH,
): RealExpr | undefined {
  const whole = replacement(product);
  if (whole !== undefined || reach === 0) return whole;
  if (product.op !== 'mul' && product.op !== 'div') return undefined;
  const [a, b] = operands(product);
  const left = replaceFactor(a, replacement, reach - 1);
  if (product.op === 'div') return left && div(left, b);
  if (left !== undefined) return mul(left, b);
  const right = replaceFactor(b, replacement, reach - 1);
  return right === undefined ? undefined : mul(a, right);
}

function order(a: RealExpr, b: RealExpr): RealExpr | undefined {
  // A square stays one node, (x * x) * y: emitters share it and sign analysis sees it.
  if (a !== b && compareStructure(a, b) > 0) return mul(b, a);
  return undefined;
}

/** Quotients: signs out; division by a power of two is an exact product. */
export const simplifyQuotient: SimplifyRule = (node) => {
  const [a, b] = operands(node);
  if (b.value === 1) return a;
  if (b.value === -1) return neg(a);
  if (a.op === 'neg') return neg(div(a.args[0] as RealExpr, b));
  if (b.op === 'neg') return neg(div(a, b.args[0] as RealExpr));
  if (b.value !== undefined && isPowerOfTwo(b.value)) return mul(1 / b.value, a);
  return undefined;
};

/** A constant that regrouping neither turns into NaN (0, inf) nor takes out of the range. */
function isMovable(x: RealExpr): x is RealExpr & { readonly value: number } {
  return x.value !== undefined && isSafe(x.value);
}

/** Far from the ends of the float32 and float64 ranges. */
function isSafe(value: number): boolean {
  const size = Math.abs(value);
  return size >= 2 ** -64 && size <= 2 ** 64;
}

function isPowerOfTwo(value: number): boolean {
  const exponent = Math.log2(Math.abs(value));
  return isSafe(value) && Number.isInteger(exponent) && 2 ** exponent === Math.abs(value);
}
