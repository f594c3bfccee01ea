import { assertExpr } from './intern-table.js';
import type { Expr } from './expr.js';
import { addNewNodes, postOrder } from './post-order.js';
import { finish, type Steps } from './steps.js';

/** Expressions do not change, and emitters ask for the variables of every node. */
const known = new WeakMap<Expr, readonly string[]>();

/** The names of the variables in `expr`, sorted by code unit. */
export function variables(expr: Expr): string[] {
  let names = known.get(expr);
  if (names === undefined) {
    assertExpr(expr, 'variables');
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
 * import { add, variable, variablesOfAll } from '@mercer/formula/plan';
 * const [a, b, c] = [variable('a'), variable('b'), variable('c')];
 * console.log(variablesOfAll([add(c, b), add(b, a)]).join(' ')); // b c a
 * ```
 */
export function variablesOfAll(exprs: readonly Expr[]): string[] {
  return finish(variablesSteps(exprs));
}

/** {@link variablesOfAll} in steps. */
export function* variablesSteps(exprs: readonly Expr[]): Steps<string[]> {
  const seen = new Set<Expr>();
  const names: string[] = [];
  for (const expr of exprs) {
    const nodes: Expr[] = [];
    yield* addNewNodes(expr, seen, nodes);
    names.push(...nodes.flatMap((node) => node.name ?? []).sort());
  }
  return names;
}
