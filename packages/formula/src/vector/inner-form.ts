import type { VectorExpr } from './vector-expr.js';

/** A sum over components that has a name: what an inner product can compute. */
export interface InnerForm {
  readonly form: 'dot' | 'squaredNorm' | 'squaredDistance';
  /** The two vectors, or the one of a squared norm; as in the formula, so one may have dim 1. */
  readonly args: readonly VectorExpr[];
}

/**
 * The form of a sum over components: `x.y`, `|x|^2` or `|x - y|^2`; undefined for other nodes.
 *
 * ```ts
 * import { innerForm, ops, vi, vj } from '@mercer/formula/plan';
 * console.log(innerForm(ops.sqDist(vi(0, 3), vj(1, 3)))?.form); // squaredDistance
 * ```
 */
export function innerForm(node: VectorExpr): InnerForm | undefined {
  const inner = node.args[0];
  if (node.kind !== 'components' || node.combine !== 'sum' || inner?.kind !== 'elementwise') {
    return undefined;
  }
  const [a, b] = inner.args as readonly [VectorExpr, VectorExpr];
  if (inner.op === 'mul' && a.dim === b.dim && a !== b) return { form: 'dot', args: [a, b] };
  if (inner.op !== 'square') return undefined;
  const isDifference = a.kind === 'elementwise' && a.op === 'sub';
  return isDifference
    ? { form: 'squaredDistance', args: a.args }
    : { form: 'squaredNorm', args: [a] };
}
