import type { ElementwiseOp } from './elementwise/elementwise-op.js';
import { input, slice } from './nodes.js';
import { orderSteps } from '../post-order.js';
import type { Steps } from '../steps.js';
import { withVectorArgs } from './substitute-vector.js';
import type { LiteralNode, VectorExpr } from './vector-expr.js';

/** Numbers in a formula at most that become components. */
const MOST_LITERALS = 32;
/** Nodes of a formula at most. */
const MOST_NODES = 2048;

/** Operations that take no longer where an operand is no constant. */
const OPERATIONS: ReadonlySet<ElementwiseOp> = new Set<ElementwiseOp>(['add', 'sub', 'mul', 'div']);
/** Numbers that formulas are simplified by. */
const OWN_MEANING: ReadonlySet<number> = new Set([0, 1, -1]);

/** A formula whose numbers are the components of a parameter. */
export interface LiftedLiterals {
  readonly formula: VectorExpr;
  /** The components, in the parameter's order. */
  readonly literals: readonly number[];
}

/**
 * A formula with the numbers that are added, subtracted, multiplied or divided by as components of a parameter, in steps:
 * formulas that differ in these numbers alone become the same node. Undefined where there is no such number, or too many, or the formula is
 * long. Zero, one and minus one stay: formulas are simplified by them.
 *
 * ```ts
 * import { finish, liftLiteralsSteps, ops, vi } from '@mercer/formula/plan';
 *
 * const lifted = finish(liftLiteralsSteps(ops.div(vi(0, 3), 2.5), 1));
 * console.log(lifted?.literals); // [ 2.5 ]
 * ```
 *
 * @param position the parameter's number among the inputs
 */
export function* liftLiteralsSteps(
  root: VectorExpr,
  position: number,
): Steps<LiftedLiterals | undefined> {
  const nodes = yield* orderSteps<VectorExpr>([root]);
  if (nodes.length > MOST_NODES) return undefined;
  const literals = nodes.flatMap((node) => liftedOf(node).map(({ value }) => value));
  if (literals.length === 0 || literals.length > MOST_LITERALS) return undefined;
  const parameter = input('parameter', position, literals.length);
  const results = new Map<VectorExpr, VectorExpr>();
  let next = 0;
  for (const node of nodes) {
    const lifted: ReadonlySet<VectorExpr> = new Set(liftedOf(node));
    const args = node.args.map((arg) =>
      lifted.has(arg) ? slice(parameter, next++, 1) : results.get(arg)!,
    );
    results.set(node, withVectorArgs(node, args));
    yield;
  }
  return { formula: results.get(root)!, literals };
}

/** The numbers among the operands of a node that may be components of a parameter. */
function liftedOf(node: VectorExpr): readonly LiteralNode[] {
  if (node.kind !== 'elementwise' || !OPERATIONS.has(node.op)) return [];
  const literals = node.args.filter((arg) => arg.kind === 'literal');
  if (literals.length === node.args.length) return [];
  return literals.filter(({ value }) => Number.isFinite(value) && !OWN_MEANING.has(value));
}
