import { postOrderVector } from './post-order-vector.js';
import type { VectorExpr } from './vector-expr.js';

/** What a value changes with: nothing or parameters alone, the row i, the row j, or the pair. */
export type Dependence = 'none' | 'i' | 'j' | 'pair';

/**
 * What each node of a formula changes with, so that a kernel computes it as rarely as it can: once,
 * once for each row of either side, or for each pair.
 *
 * ```ts
 * import { dependences, ops, vi, vj } from '@mercer/formula/plan';
 * const norm = ops.sqNorm2(vi(0, 3));
 * const f = ops.add(norm, ops.dot(vi(0, 3), vj(1, 3)));
 * const of = dependences(f);
 * console.log(of.get(norm), of.get(f)); // i pair
 * ```
 */
export function dependences(...roots: readonly VectorExpr[]): ReadonlyMap<VectorExpr, Dependence> {
  const found = new Map<VectorExpr, Dependence>();
  for (const node of postOrderVector(...roots)) {
    found.set(node, node.args.map((arg) => found.get(arg)!).reduce(together, ownDependence(node)));
  }
  return found;
}

function ownDependence(node: VectorExpr): Dependence {
  if (node.kind === 'index') return node.axis;
  // A gathered row is chosen by its index alone.
  return node.kind === 'variable' && node.category !== 'parameter' ? node.category : 'none';
}

function together(a: Dependence, b: Dependence): Dependence {
  if (a === 'none' || a === b) return b;
  return b === 'none' ? a : 'pair';
}
