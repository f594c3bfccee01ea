import { axesOf } from './contraction.js';
import { orderSteps } from '../post-order.js';
import { finish, visitSteps, type Steps } from '../steps.js';
import type { VectorExpr } from './vector-expr.js';

/**
 * How many scalar operations a formula takes at one pair of rows when every loop over components is
 * written out: a component of an elementwise node, an element of a sum, a product of a contraction.
 */
export function unrolledSize(...roots: readonly VectorExpr[]): number {
  return finish(unrolledSizeSteps(roots));
}

/** {@link unrolledSize} in steps. */
export function* unrolledSizeSteps(roots: readonly VectorExpr[]): Steps<number> {
  let size = 0;
  yield* visitSteps(yield* orderSteps(roots), (node) => {
    if (node.kind === 'components') size += node.args[0]!.dim;
    else if (node.kind === 'contract') {
      size += [...axesOf(node.contraction).sizes.values()].reduce((p, n) => p * n, 1);
    } else size += node.dim;
  });
  return size;
}
