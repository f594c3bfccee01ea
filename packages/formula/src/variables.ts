import type { Expr } from './expr.js';
import { postOrder } from './post-order.js';

/** The names of the variables in `expr`, sorted by code unit. */
export function variables(expr: Expr): string[] {
  return postOrder(expr)
    .flatMap((node) => node.name ?? [])
    .sort();
}
