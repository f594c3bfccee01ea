import type { Expr } from './expr.js';
import { postOrder } from './post-order.js';

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
