import type { Expr } from './expr.js';
import { NON_NEGATIVE } from './non-negative.js';
import { applyRule } from './rule-table.js';

/**
 * Whether `expr` is >= 0 or NaN for all data, as far as its shape tells; `assumed` names the
 * variables that are.
 *
 * ```ts
 * import { abs, isNonNegative, sub, variable } from '@mercer/formula/plan';
 * const d = sub(variable('a'), variable('b'));
 * console.log(isNonNegative(abs(d)), isNonNegative(d)); // true false
 * ```
 */
export function isNonNegative(expr: Expr, assumed: readonly string[] = NOTHING): boolean {
  const known = assumed.length === 0 ? knownOfAll : new WeakMap<Expr, boolean>();
  const open: Expr[] = [expr];
  for (let node = open.at(-1); node !== undefined; node = open.at(-1)) {
    if (known.has(node)) {
      open.pop();
      continue;
    }
    const next = node.args.find((arg) => !known.has(arg));
    if (next !== undefined) {
      open.push(next);
      continue;
    }
    const args = node.args.map((arg) => known.get(arg) === true);
    known.set(
      node,
      node.name !== undefined ? assumed.includes(node.name) : applyRule(NON_NEGATIVE, node, args),
    );
    open.pop();
  }
  return known.get(expr) === true;
}

const NOTHING: readonly string[] = Object.freeze([]);

/** What is known of nodes where nothing is assumed, so that many questions about one expression do not go through it each time. */
const knownOfAll = new WeakMap<Expr, boolean>();
