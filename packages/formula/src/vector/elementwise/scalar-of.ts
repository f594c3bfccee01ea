import { build, constant, isApplyOp, type ApplyOp } from '../../build.js';
import { ne, select, variable } from '../../constructors.js';
import type { BoolExpr, Expr, RealExpr } from '../../expr.js';
import { call } from '../../functions/call.js';
import { MATH } from '../../functions/math-ops.js';
import { SIGNATURES } from '../../op.js';
import { substitute } from '../../substitute.js';
import type { ElementwiseNode } from '../vector-expr.js';
import { DEFINITIONS, type DefinedOp } from './defined-ops.js';
import type { ElementwiseOp } from './elementwise-op.js';

/** The variable that stands for argument `k` in {@link scalarOf}. */
export const argumentName = (k: number): string => `x${k}`;

/** Which argument a variable of {@link scalarOf} stands for. */
export const argumentNumber = (name: string): number => Number(name.slice(1));

/** True for a name of a scalar expression. */
export function isDefinedOp(op: ElementwiseOp): op is DefinedOp {
  return Object.hasOwn(DEFINITIONS, op);
}

/** How many arguments and fixed numbers an operation takes; undefined for a name that is none. */
export function elementwiseArity(
  op: ElementwiseOp,
): { readonly args: number; readonly attributes: number } | undefined {
  if (isApplyOp(op)) return { args: SIGNATURES[op].args.length, attributes: 0 };
  if (isDefinedOp(op)) return { args: ARITY_OF_DEFINED[op], attributes: 0 };
  return Object.hasOwn(MATH, op) ? MATH[op] : undefined;
}

const ARITY_OF_DEFINED: { readonly [K in DefinedOp]: 1 | 3 } = {
  square: 1,
  inv: 1,
  relu: 1,
  step: 1,
  clamp: 3,
  ifElse: 3,
  xlogx: 1,
  logistic: 1,
};

/** The operation over the variables `x0`, `x1`, `x2`, all of them numbers. */
export function sharedDefinition(op: ApplyOp): RealExpr {
  const args: Expr[] = SIGNATURES[op].args.map((_, k) => variable(argumentName(k)));
  if (op === 'select') args[0] = ne(args[0] as RealExpr, 0);
  const node: Expr = build(op, args);
  return node.type === 'bool' ? select(node as BoolExpr, 1, 0) : (node as RealExpr);
}

function definitionOf({ op, attributes }: ElementwiseNode): RealExpr {
  if (isApplyOp(op)) return sharedDefinition(op);
  if (isDefinedOp(op)) return DEFINITIONS[op];
  const args = Array.from({ length: MATH[op].args }, (_, k) => variable(argumentName(k)));
  return call(op, args, attributes);
}

/**
 * The scalar expression that an elementwise node applies to each component, over the variables
 * `x0`, `x1`, `x2` for its arguments; arguments that are literals stand in it as constants.
 * A function of the language is a `call` node.
 *
 * ```ts
 * import { ops, print, scalarOf, vi } from '@mercer/formula/plan';
 * const relu = ops.relu(vi(0, 3));
 * if (relu.kind === 'elementwise') console.log(print(scalarOf(relu))); // max(x0, 0)
 * ```
 */
export function scalarOf(node: ElementwiseNode): RealExpr {
  const { args } = node;
  const definition = definitionOf(node);
  const literals: Record<string, RealExpr> = {};
  for (const [k, arg] of args.entries()) {
    if (arg.kind === 'literal') literals[argumentName(k)] = constant(arg.value);
  }
  return substitute(definition, literals);
}
