import {
  abs,
  constant,
  neg,
  postOrder,
  simplify,
  sub,
  substitute,
  variable,
  variables,
  withArgs,
  type Expr,
  type RealExpr,
} from '@mercer/formula/plan';
import { normExpressions } from '../pairwise/norm-expressions.js';
import type { Reduce } from '../pairwise/problem.js';

/** What a pairwise kernel computes: `outer(reduce_k inner(a, b))`, with named parameters. */
export interface ForwardExpressions {
  /** In a, b, p and the parameters. */
  readonly inner: RealExpr;
  /** In s, p and the parameters. */
  readonly outer: RealExpr;
  readonly reduce: Reduce;
  readonly parameters?: readonly string[] | undefined;
}

/** A sum of powers of differences: `s = sum_k |a - b|^exponent`. */
export interface PowerSum {
  /** A constant, or a variable that is the same for all pairs. */
  readonly exponent: RealExpr;
  /** `s^(1/exponent)` and the outer expression in the variable `distance`, where it reads s only so. */
  readonly root: { readonly of: RealExpr; readonly rest: RealExpr } | undefined;
}

const difference = sub(variable('a'), variable('b'));
const distance = abs(difference);

/** The specialised norms by their inner expression, which are interned: equal ones are identical. */
const BY_INNER: ReadonlyMap<Expr, number> = new Map(
  Array.from({ length: 32 }, (_, i) => (i + 1) / 4).map((p) => [normExpressions(p).inner, p]),
);

/**
 * Recognises the inner expression of a p-norm, `|a - b|^p` or what a specialised p is written as,
 * and whether the outer expression is a function of the distance alone; undefined for other
 * expressions and for p = 1 and 2, whose plain derivatives are as good.
 */
export function powerSum({ inner, outer, reduce }: ForwardExpressions): PowerSum | undefined {
  if (reduce !== 'sum') return undefined;
  const exponent = exponentOf(inner);
  if (exponent === undefined || exponent.value === 1 || exponent.value === 2) return undefined;
  const root =
    exponent.value === undefined
      ? substitute(normExpressions('runtime').outer, { p: exponent })
      : normExpressions(exponent.value).outer;
  const plain = { exponent, root: undefined };
  if (!postOrder(outer).includes(root)) return plain;
  const rest = replaceNode(outer, root, variable('distance'));
  return variables(rest).includes('s') ? plain : { exponent, root: { of: root, rest } };
}

function exponentOf(inner: RealExpr): RealExpr | undefined {
  const known = BY_INNER.get(inner);
  if (known !== undefined) return constant(known);
  if (inner.op !== 'pow' || inner.args[0] !== distance) return undefined;
  const exponent = inner.args[1] as RealExpr;
  return exponent.value !== undefined || exponent.name !== undefined ? exponent : undefined;
}

/** Whether `inner` is a function of a - b that does not change with its sign. */
export function isEven(inner: RealExpr): boolean {
  const x = variable('difference');
  const plain = simplify(replaceNode(inner, difference, x));
  if (variables(plain).some((name) => name === 'a' || name === 'b')) return false;
  return simplify(substitute(plain, { difference: neg(x) })) === plain;
}

/** `expr` with one node replaced wherever it occurs. */
function replaceNode(expr: RealExpr, node: RealExpr, by: RealExpr): RealExpr {
  if (expr === node) return by;
  const results = new Map<Expr, Expr>([[node, by]]);
  for (const each of postOrder(expr)) {
    if (results.has(each)) continue;
    const args = each.args.map((arg) => results.get(arg) ?? arg);
    results.set(each, withArgs(each, args));
  }
  return results.get(expr) as RealExpr;
}
