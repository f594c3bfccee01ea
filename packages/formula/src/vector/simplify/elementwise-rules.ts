import { elementwiseFunction } from '../elementwise/evaluate-elementwise.js';
import { elementwise, literal, place, slice } from '../nodes.js';
import { add, div, mul, neg, square, sub } from '../operations/arithmetic.js';
import type { ElementwiseNode, VectorExpr } from '../vector-expr.js';

const valueOf = (node: VectorExpr): number | undefined =>
  node.kind === 'literal' ? node.value : undefined;
const isZero = (node: VectorExpr): boolean => node.kind === 'zero' || valueOf(node) === 0;

/** The argument of a negation. */
const negated = (node: VectorExpr): VectorExpr | undefined =>
  node.kind === 'elementwise' && node.op === 'neg' ? node.args[0] : undefined;

/** `literal * rest`, the literal far from the ends of the float32 and float64 ranges. */
function scaled(node: VectorExpr): readonly [number, VectorExpr] | undefined {
  if (node.kind !== 'elementwise' || node.op !== 'mul') return undefined;
  const [a, b] = node.args as readonly [VectorExpr, VectorExpr];
  const factor = valueOf(a);
  return factor !== undefined && isSafe(factor) ? [factor, b] : undefined;
}

const isSafe = (value: number): boolean => {
  const size = Math.abs(value);
  return size >= 2 ** -64 && size <= 2 ** 64;
};

type Rule = (node: ElementwiseNode, a: VectorExpr, b: VectorExpr) => VectorExpr | undefined;

/** Rules by operation; a result of dim 1 is repeated by the caller. */
const RULES: { readonly [op in string]?: Rule } = {
  add: (_, a, b) => {
    if (isZero(a)) return b;
    if (isZero(b)) return a;
    const [minusA, minusB] = [negated(a), negated(b)];
    if (minusB !== undefined) return sub(a, minusB);
    if (minusA !== undefined) return sub(b, minusA);
    if (a === b) return mul(2, a);
    const [factorB, restB] = scaled(b) ?? [1, b];
    if (factorB < 0) return sub(a, mul(-factorB, restB));
    const [x, y] = [scaled(a) ?? ([1, a] as const), scaled(b) ?? ([1, b] as const)];
    // Coefficients of one sign only: 3 x - 2 x cancels, and differs where x is infinite.
    return x[1] === y[1] && x[0] * y[0] > 0 ? mul(x[0] + y[0], x[1]) : undefined;
  },
  sub: (_, a, b) => {
    if (isZero(b)) return a;
    if (isZero(a)) return neg(b);
    const minusB = negated(b);
    return minusB === undefined ? undefined : add(a, minusB);
  },
  mul: (_, a, b) => {
    if (valueOf(a) === 1) return b;
    if (valueOf(a) === -1) return neg(b);
    if (valueOf(b) !== undefined) return mul(b, a);
    const [minusA, minusB] = [negated(a), negated(b)];
    if (minusA !== undefined) return neg(mul(minusA, b));
    if (minusB !== undefined) return neg(mul(a, minusB));
    if (a === b) return square(a);
    return literalsInFront(a, b);
  },
  div: (_, a, b) => {
    if (valueOf(b) === 1) return a;
    if (valueOf(b) === -1) return neg(a);
    const [minusA, minusB] = [negated(a), negated(b)];
    if (minusA !== undefined) return neg(div(minusA, b));
    return minusB === undefined ? undefined : neg(div(a, minusB));
  },
  neg: (_, a) => {
    const inner = negated(a);
    if (inner !== undefined) return inner;
    if (a.kind === 'zero') return a;
    if (a.kind === 'elementwise' && a.op === 'sub') return sub(a.args[1]!, a.args[0]!);
    const factor = scaled(a);
    return factor && mul(-factor[0], factor[1]);
  },
  square: (_, a) => {
    const inner = negated(a);
    return inner && square(inner);
  },
  pow: (_, a, b) => {
    const exponent = valueOf(b);
    if (exponent === 0) return literal(1);
    if (exponent === 1) return a;
    return exponent === 2 ? square(a) : undefined;
  },
  select: ({ args }, condition, a) => {
    const decided = valueOf(condition);
    if (a === args[2]) return a;
    if (decided === undefined) return undefined;
    return decided === 0 ? args[2] : a;
  },
};

/** Literals move to the front of a product and multiply there. */
function literalsInFront(a: VectorExpr, b: VectorExpr): VectorExpr | undefined {
  const [x, y] = [scaled(a), scaled(b)];
  const factor = valueOf(a);
  if (y !== undefined) {
    if (factor === undefined) return mul(y[0], mul(x === undefined ? a : mul(x[0], x[1]), y[1]));
    return isSafe(factor) && isSafe(factor * y[0]) ? mul(factor * y[0], y[1]) : undefined;
  }
  return x === undefined ? undefined : mul(x[0], mul(x[1], b));
}

/**
 * The zeros around a placed vector are structural, not data: they stay zeros through a product, a
 * quotient and a sign, and the operation is done on what is placed alone.
 */
function insidePlace({ op, args, dim }: ElementwiseNode): VectorExpr | undefined {
  const [a, b] = args as readonly [VectorExpr, VectorExpr];
  const placed = a.kind === 'place' ? a : op === 'mul' ? b : undefined;
  if (placed?.kind !== 'place' || (op !== 'mul' && op !== 'div' && op !== 'neg')) return undefined;
  const inner = placed.args[0]!;
  const { start, step } = placed;
  const small = args.map((arg) => {
    if (arg === placed) return inner;
    return arg.dim === 1 ? arg : slice(arg, start, inner.dim, step);
  });
  return place(elementwise(op, small), start, dim, step);
}

/** Simplification of an elementwise node whose arguments are in normal form. */
export function simplifyElementwise(node: ElementwiseNode): VectorExpr | undefined {
  const inside = insidePlace(node);
  if (inside !== undefined) return inside;
  const values = node.args.map(valueOf);
  if (values.every((value) => value !== undefined)) {
    return literal(elementwiseFunction(node)(values));
  }
  return RULES[node.op]?.(node, node.args[0]!, node.args[1] ?? node.args[0]!);
}
