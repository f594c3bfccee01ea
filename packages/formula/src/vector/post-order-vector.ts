import { orderNodes } from '../post-order.js';
import type { VectorExpr } from './vector-expr.js';

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrderVector(...roots: readonly VectorExpr[]): VectorExpr[] {
  return orderNodes<VectorExpr>(...roots);
}

/** The inputs of a formula, gathered ones included, sorted by position. */
export function inputsOf(
  ...roots: readonly VectorExpr[]
): Extract<VectorExpr, { kind: 'variable' }>[] {
  const found = new Set(
    postOrderVector(...roots).flatMap((node) =>
      node.kind === 'variable' ? [node] : node.kind === 'gather' ? [node.table] : [],
    ),
  );
  return [...found].sort((a, b) => a.position - b.position || a.id - b.id);
}
