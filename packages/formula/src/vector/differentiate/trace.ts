import { components, literal, slice } from '../nodes.js';
import { partial } from '../elementwise/partials.js';
import { add, mul } from '../operations/arithmetic.js';
import { dot } from '../operations/components.js';
import type { Source, VectorExpr } from '../vector-expr.js';
import { adjointOf, dependants } from './adjoint.js';

/**
 * The sum over k of `weight_k` times the derivative of component k of `root` by component k of
 * `source`, not simplified; root and source have the same dim, and so has the weight.
 *
 * Elementwise operations only change the weight, and a scalar factor contributes its gradient, so
 * that the result grows with the formula and not with the dim. Below an operation that mixes
 * components there is one pass for each component, `unitVectors`.
 */
export function weightedTrace(
  root: VectorExpr,
  source: Source,
  weight: VectorExpr,
  unitVectors: (dim: number) => readonly VectorExpr[],
): VectorExpr {
  const { dim } = source;
  const active = dependants(root, new Set([source]));
  const weights = new Map<VectorExpr, VectorExpr>([[root, weight]]);
  let total = literal(0);
  const contribute = (term: VectorExpr): void => {
    total = add(total, term);
  };
  for (const node of [...active].reverse()) {
    const w = weights.get(node);
    if (w === undefined) continue;
    if (node === source) contribute(components('sum', w));
    else if (node.kind === 'elementwise' && node.dim === dim) {
      for (const [k, arg] of node.args.entries()) {
        const slope = active.has(arg) ? partial(node, k) : undefined;
        if (slope === undefined) continue;
        const known = weights.get(arg);
        const more = mul(w, slope);
        weights.set(arg, known === undefined ? more : add(known, more));
      }
    } else if (node.dim === 1 || node.kind === 'repeat') {
      const scalar = node.kind === 'repeat' ? node.args[0]! : node;
      const gradient = adjointOf(scalar, source, literal(1));
      if (gradient !== undefined) contribute(dot(w, gradient));
    } else {
      for (const [k, unit] of unitVectors(dim).entries()) {
        const row = adjointOf(node, source, unit);
        if (row !== undefined) contribute(mul(slice(w, k, 1), slice(row, k, 1)));
      }
    }
  }
  return total;
}
