import { orderNodes } from '../post-order.js';
import { assertVectorExpr, inputsBelow, merged } from './intern-vector.js';
import type { VariableNode, VectorExpr } from './vector-expr.js';

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrderVector(...roots: readonly VectorExpr[]): VectorExpr[] {
  return orderNodes<VectorExpr>(...roots);
}

/** The inputs of a formula, gathered ones included, sorted by position. */
export function inputsOf(...roots: readonly VectorExpr[]): readonly VariableNode[] {
  for (const root of roots) assertVectorExpr(root, 'inputsOf');
  return merged(roots.map(inputsBelow));
}
