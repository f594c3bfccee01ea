import { elementwise, repeat } from '../nodes.js';
import { postOrderVector } from '../post-order-vector.js';
import { withVectorArgs } from '../substitute-vector.js';
import type { ElementwiseNode, Kind, NodeOfKind, VectorExpr } from '../vector-expr.js';
import { simplifyElementwise } from './elementwise-rules.js';
import { simplifyStructure } from './structure-rules.js';

/** A rewriting of a node whose arguments are in normal form; `undefined` where none applies. */
export type VectorRule<K extends Kind> = (node: NodeOfKind<K>) => VectorExpr | undefined;

const RULES: { readonly [K in Kind]: VectorRule<K> } = {
  ...simplifyStructure,
  elementwise: (node) => narrowed(node) ?? simplifyElementwise(node),
};

/**
 * An equal formula, usually shorter; simplifying twice changes nothing more. The value is preserved
 * in float64 up to a few roundings and the sign of a zero, for NaN and infinite data too: `0 * x`,
 * `x - x` and `x / x` stay. Only structural zeros are dropped: those of `Zero`, `ElemT` and `ExtractT`
 * in sums and, around what is placed, in products.
 *
 * ```ts
 * import { ops, printFormula, simplifyVector, vi } from '@mercer/formula';
 * const x = vi(0, 3);
 * console.log(printFormula(simplifyVector(ops.sum(ops.mul(2, ops.mul(x, x)))))); // 2 * SqNorm2(Vi(0, 3))
 * ```
 */
export function simplifyVector(root: VectorExpr): VectorExpr {
  const done = new Map<VectorExpr, VectorExpr>();
  const normalise = (node: VectorExpr): VectorExpr => {
    const known = done.get(node);
    if (known !== undefined) return known;
    const current = withVectorArgs(node, node.args.map(normalise));
    // One untyped step for the table: the kind chooses the rule.
    const next = (RULES[current.kind] as VectorRule<Kind>)(current);
    const sized = next === undefined || next.dim === current.dim ? next : repeat(next, current.dim);
    const result = sized === undefined || sized === current ? current : normalise(sized);
    done.set(node, result);
    done.set(result, result);
    return result;
  };
  // Arguments first, so that the recursion above only ever goes through what a rule just built.
  for (const node of postOrderVector(root)) normalise(node);
  return normalise(root);
}

/** Repeats are left to broadcasting, or moved behind the operation. */
function narrowed(node: ElementwiseNode): VectorExpr | undefined {
  const { op, args, attributes, dim } = node;
  if (dim === 1 || !args.some((arg) => arg.kind === 'repeat')) return undefined;
  const full = args.findIndex((arg) => arg.kind !== 'repeat' && arg.dim === dim);
  const small = args.map((arg) => (arg.kind === 'repeat' ? arg.args[0]! : arg));
  const result = elementwise(op, small, attributes);
  return full < 0 ? repeat(result, dim) : result;
}
