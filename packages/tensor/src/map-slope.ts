import {
  add,
  differentiate,
  eq,
  FormulaError,
  mul,
  postOrder,
  select,
  withArgs,
  type Expr,
  type RealExpr,
} from '@mercer/formula/plan';
import { notDifferentiable } from './mercer-error.js';

/** Kernels are remembered by their formula, so that a derivative is kept as long as what it is one of. */
const known = new WeakMap<Expr, Map<string, RealExpr>>();

/**
 * The derivative of a formula by a variable: that of `differentiate`, with halves where both arguments of `min` or `max` are equal, as `minimum`
 * and `maximum` have it.
 *
 * @throws MercerError NOT_DIFFERENTIABLE for functions that have none
 */
export function slopeOf(formula: RealExpr, by: string): RealExpr {
  const all = known.get(formula) ?? new Map<string, RealExpr>();
  known.set(formula, all);
  const slope = all.get(by) ?? derivativeOf(formula, by);
  all.set(by, slope);
  return slope;
}

function derivativeOf(formula: RealExpr, by: string): RealExpr {
  try {
    return differentiate(withHalves(formula), by);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    throw notDifferentiable('map', `by '${by}': ${error.message}`);
  }
}

/** The same values, in which `min` and `max` of equal arguments are their mean. */
function withHalves(formula: RealExpr): RealExpr {
  const made = new Map<Expr, Expr>();
  for (const node of postOrder(formula)) {
    const args = node.args.map((arg) => made.get(arg) as Expr);
    const same = withArgs(node, args);
    const isKink = node.op === 'min' || node.op === 'max';
    made.set(node, isKink ? halved(same as RealExpr, args as RealExpr[]) : same);
  }
  return made.get(formula) as RealExpr;
}

const halved = (node: RealExpr, [a, b]: readonly RealExpr[]): RealExpr =>
  select(eq(a as RealExpr, b as RealExpr), add(mul(0.5, a as RealExpr), mul(0.5, b as RealExpr)), node); // prettier-ignore
