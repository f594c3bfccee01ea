import { differentiate } from '../../differentiate.js';
import type { RealExpr } from '../../expr.js';
import { square, sub } from '../operations/arithmetic.js';
import { logistic } from '../operations/functions.js';
import type { ElementwiseNode, VectorExpr } from '../vector-expr.js';
import { lift } from './lift.js';
import { argumentName, argumentNumber, scalarOf } from './scalar-of.js';

/** Slopes of operations without literal arguments: as many as there are operations and arguments. */
const knownSlopes = new Map<string, RealExpr>();

function scalarSlope(node: ElementwiseNode, k: number): RealExpr {
  const slope = (): RealExpr => differentiate(scalarOf(node), argumentName(k));
  // Fixed numbers are as many as their users like: only what has none is remembered.
  if (node.attributes.length > 0 || node.args.some((arg) => arg.kind === 'literal')) return slope();
  const key = `${node.op}:${k}`;
  const known = knownSlopes.get(key) ?? slope();
  knownSlopes.set(key, known);
  return known;
}

/**
 * The derivative of an elementwise node by argument `k`, component by component; undefined where it
 * is 0 everywhere. It comes from the scalar derivative table.
 */
export function partial(node: ElementwiseNode, k: number): VectorExpr | undefined {
  const { op, args } = node;
  // The scalar rule would be exp(-x) / (1 + exp(-x))^2, which is infinity by infinity far out.
  if (op === 'logistic') return sub(node, square(node));
  if (op === 'softplus') return logistic(args[0]!);
  const slope = scalarSlope(node, k);
  return slope.value === 0 ? undefined : lift(slope, (name) => args[argumentNumber(name)]!);
}
