import type { Expr } from './expr.js';
import { NON_NEGATIVE } from './non-negative.js';
import { postOrder } from './post-order.js';
import { applyRule } from './rule-table.js';

/**
 * Whether `expr` is >= 0 or NaN for all data, as far as its shape tells; `assumed` names the
 * variables that are.
 *
 * ```ts
 * import { abs, isNonNegative, sub, variable } from '@mercer/formula';
 * const d = sub(variable('a'), variable('b'));
 * console.log(isNonNegative(abs(d)), isNonNegative(d)); // true false
 * ```
 */
export function isNonNegative(expr: Expr, assumed: readonly string[] = []): boolean {
  const names = new Set(assumed);
  const known = new Map<Expr, boolean>();
  for (const node of postOrder(expr)) {
    const args = node.args.map((arg) => known.get(arg) === true);
    known.set(
      node,
      node.name !== undefined ? names.has(node.name) : applyRule(NON_NEGATIVE, node, args),
    );
  }
  return known.get(expr) === true;
}
