import { assertVectorExpr } from '../intern-vector.js';
import { finish, type Steps } from '../../steps.js';
import { elementwise, repeat } from '../nodes.js';
import { withVectorArgs } from '../substitute-vector.js';
import type { ElementwiseNode, Kind, VectorExpr } from '../vector-expr.js';
import { simplifyElementwise } from './elementwise-rules.js';
import { simplifyStructure } from './structure-rules.js';
import type { VectorRule } from './vector-rule.js';

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
  assertVectorExpr(root, 'simplifyVector');
  return finish(simplifyVectorSteps(root));
}

/** {@link simplifyVector} in steps, one for each node that is rewritten. */
export function* simplifyVectorSteps(root: VectorExpr): Steps<VectorExpr> {
  const done = new Map<VectorExpr, VectorExpr>();
  // A stack of its own: rules push parts down long chains, deeper than calls may nest.
  const stack: {
    readonly node: VectorExpr;
    current: VectorExpr | undefined;
    next: VectorExpr | undefined;
  }[] = [{ node: root, current: undefined, next: undefined }];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const { node, current, next } = top;
    const result = done.get(node) ?? (next && done.get(next));
    if (result !== undefined) {
      done.set(node, result);
      if (current !== undefined) done.set(current, result);
      stack.pop();
      continue;
    }
    const open = node.args.filter((arg) => !done.has(arg));
    if (open.length > 0) {
      for (const arg of open) stack.push({ node: arg, current: undefined, next: undefined });
      continue;
    }
    yield;
    top.current = withVectorArgs(
      node,
      node.args.map((arg) => done.get(arg)!),
    );
    const rewritten = done.get(top.current) ?? rewrite(top.current);
    if (rewritten === top.current) done.set(node, rewritten).set(rewritten, rewritten);
    else {
      top.next = rewritten;
      stack.push({ node: rewritten, current: undefined, next: undefined });
    }
  }
  return done.get(root)!;
}

/** One step; the node itself where no rule applies. */
function rewrite(node: VectorExpr): VectorExpr {
  // One untyped step for the table: the kind chooses the rule.
  const next = (RULES[node.kind] as VectorRule<Kind>)(node) ?? node;
  return next.dim === node.dim ? next : repeat(next, node.dim);
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
