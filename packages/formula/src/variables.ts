import type { Expr } from './expr.js';
import { newNodes, postOrder } from './post-order.js';

/** Expressions do not change, and emitters ask for the variables of every node. */
const known = new WeakMap<Expr, readonly string[]>();

/** The names of the variables in `expr`, sorted by code unit. */
export function variables(expr: Expr): string[] {
  let names = known.get(expr);
  if (names === undefined) {
    names = postOrder(expr)
      .flatMap((node) => node.name ?? [])
      .sort();
    known.set(expr, names);
  }
  return [...names];
}

/**
 * The names of the variables in `exprs`, each once: those of the first expression, sorted by code unit, then those that the second
 * adds, and so on. What expressions have in common is looked at once.
 *
 * ```ts
 * import { add, variable, variablesOfAll } from '@mercer/formula';
 * const [a, b, c] = [variable('a'), variable('b'), variable('c')];
 * console.log(variablesOfAll([add(c, b), add(b, a)]).join(' ')); // b c a
 * ```
 */
export function variablesOfAll(exprs: readonly Expr[]): string[] {
  const seen = new Set<Expr>();
  return exprs.flatMap((expr) =>
    newNodes(expr, seen)
      .flatMap((node) => node.name ?? [])
      .sort(),
  );
}
