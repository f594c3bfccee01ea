import { isApplyOp, type ApplyOp } from '../../build.js';
import { FLOAT64 } from '../../evaluate.js';
import type { Expr } from '../../expr.js';
import type { ElementwiseNode } from '../vector-expr.js';
import { DEFINITIONS, type DefinedOp } from './defined-ops.js';
import { MATH } from '../../functions/math-ops.js';
import { argumentNumber, isDefinedOp } from './scalar-of.js';

/** From the arguments of an operation at one component to its value there. */
type Float64Function = (args: readonly number[]) => number;

/** The value of an elementwise node's operation at one component, as a function of the arguments there. */
export function elementwiseFunction({
  op,
  attributes,
}: Pick<ElementwiseNode, 'op' | 'attributes'>): Float64Function {
  if (isApplyOp(op)) return sharedRule(op);
  if (isDefinedOp(op)) return definedRule(op);
  const row = MATH[op];
  return (args) => row.evaluate(args, attributes);
}

const sharedRule = (op: ApplyOp): Float64Function =>
  // One untyped step for the table: arity is checked when a node is built.
  FLOAT64[op] as unknown as Float64Function;

const defined = new Map<DefinedOp, Float64Function>();

/** The scalar expression that a name stands for, as nested functions; made once for each name. */
function definedRule(op: DefinedOp): Float64Function {
  const known = defined.get(op) ?? nested(DEFINITIONS[op]);
  defined.set(op, known);
  return known;
}

function nested(expr: Expr): Float64Function {
  const { value, name } = expr;
  if (value !== undefined) return () => value;
  if (name !== undefined) {
    const k = argumentNumber(name);
    return (args) => args[k]!;
  }
  const rule = sharedRule(expr.op as ApplyOp);
  const inner = expr.args.map(nested);
  // one array for every call: a list made anew for each component takes several times as long
  const values = new Array<number>(inner.length);
  return (args) => {
    for (let k = 0; k < inner.length; k++) values[k] = inner[k]!(args);
    return rule(values);
  };
}
