import type { Expr, NodeOf } from './expr.js';
import type { ArgTypes, MapTuple, Op } from './op.js';
import { postOrder } from './post-order.js';

/** One `R` for every argument of operation `K`. */
export type ArgResults<K extends Op, R> = MapTuple<ArgTypes[K], R>;

/** How one operation is interpreted: from its arguments' results and the node itself. */
export type Rule<K extends Op, R> = (args: ArgResults<K, R>, node: NodeOf<K>) => R;

/**
 * An interpretation of the whole language: one rule per operation. The type is exhaustive, so a new
 * operation does not compile until every table has it.
 */
export type RuleTable<R> = { readonly [K in Op]: Rule<K, R> };

/**
 * Interprets `root` bottom-up by `rules`; every distinct node is visited once.
 *
 * ```ts
 * import { add, fold, mul, OPS, variable, type RuleTable } from '@mercer/formula/plan';
 * const total = (args: readonly number[]) => args.reduce((sum, n) => sum + n, 1);
 * const size = Object.fromEntries(OPS.map((op) => [op, total])) as unknown as RuleTable<number>;
 * const x = variable('x');
 * console.log(fold(size, add(mul(x, x), 1))); // 5
 * ```
 */
export function fold<R>(rules: RuleTable<R>, root: Expr): R {
  const results = new Map<Expr, R>();
  for (const node of postOrder(root)) {
    const args = node.args.map((arg) => results.get(arg) as R);
    results.set(node, applyRule(rules, node, args));
  }
  return results.get(root) as R;
}

/** Applies the rule of `node`'s operation to the results of its arguments. */
export function applyRule<R>(rules: RuleTable<R>, node: Expr, args: readonly R[]): R {
  // One untyped step for all tables: arity is checked when a node is built.
  const rule = rules[node.op] as unknown as (args: readonly R[], node: Expr) => R;
  return rule(args, node);
}
