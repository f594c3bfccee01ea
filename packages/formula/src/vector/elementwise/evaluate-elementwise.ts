import { evaluate, FLOAT64 } from '../../evaluate.js';
import type { RealExpr } from '../../expr.js';
import type { ApplyOp } from '../../build.js';
import type { ElementwiseNode } from '../vector-expr.js';
import { DEFINITIONS } from './defined-ops.js';
import { MATH } from './math-ops.js';
import { argumentName, isDefinedOp, isSharedOp } from './scalar-of.js';

type Float64Rule = (args: readonly number[]) => number;

/** The value of an elementwise node's operation at one component. */
export function evaluateElementwise(
  { op, attributes }: Pick<ElementwiseNode, 'op' | 'attributes'>,
  args: readonly number[],
): number {
  if (isSharedOp(op)) return sharedRule(op)(args);
  if (isDefinedOp(op)) return evaluateDefinition(DEFINITIONS[op], args);
  return MATH[op].evaluate(args, attributes);
}

const sharedRule = (op: ApplyOp): Float64Rule =>
  // One untyped step for the table: arity is checked when a node is built.
  FLOAT64[op] as unknown as Float64Rule;

function evaluateDefinition(definition: RealExpr, args: readonly number[]): number {
  const bindings = Object.fromEntries(args.map((value, k) => [argumentName(k), value]));
  return evaluate(definition, bindings);
}
