import fc from 'fast-check';
import { ops, pm, vi, vj, type VectorExpr } from '../../index.js';

/** The inputs of random formulas: two vectors of 3, a scalar parameter, a vector of 4. */
export const INPUTS = [vi(0, 3), vj(1, 3), pm(2, 1), vi(3, 4)] as const;

type Make = (a: VectorExpr, b: VectorExpr) => VectorExpr | undefined;

/** Operations that are smooth, or nearly everywhere; undefined where the dims do not fit. */
const OPERATIONS: readonly Make[] = [
  (a, b) => (a.dim === b.dim || a.dim === 1 || b.dim === 1 ? ops.add(a, b) : undefined),
  (a, b) => (a.dim === b.dim || a.dim === 1 || b.dim === 1 ? ops.sub(a, b) : undefined),
  (a, b) => (a.dim === b.dim || a.dim === 1 || b.dim === 1 ? ops.mul(a, b) : undefined),
  (a, b) => (a.dim === b.dim || b.dim === 1 ? ops.div(a, ops.add(2, ops.square(b))) : undefined),
  (a, b) => (a.dim === b.dim ? ops.dot(a, b) : undefined),
  (a, b) => (a.dim === b.dim ? ops.sqDist(a, b) : undefined),
  (a, b) => (a.dim === b.dim ? ops.where(ops.lessThan(a, b), a, ops.mul(a, b)) : undefined),
  (a, b) => (a.dim === b.dim ? ops.maximum(a, b) : undefined),
  (a, b) => (a.dim === b.dim ? ops.atan2(a, ops.add(3, ops.square(b))) : undefined),
  (a, b) => (a.dim + b.dim <= 8 ? ops.concat(a, b) : undefined),
  (a, b) => (a.dim === b.dim && a.dim <= 4 ? ops.interleave(a, b) : undefined),
  (a, b) => (a.dim * b.dim <= 12 ? ops.tensorProd(a, b) : undefined),
  (a, b) => (a.dim === 9 && b.dim === 3 ? ops.matVecMult(a, b) : undefined),
  (a, b) => (b.dim % a.dim === 0 ? ops.vecMatMult(a, b) : undefined),
  (a, b) => (a.dim % 2 === 0 && a.dim === b.dim ? ops.complexMult(a, b) : undefined),
  (a) => ops.exp(ops.neg(ops.square(a))),
  (a) => ops.sin(a),
  (a) => ops.tanh(a),
  (a) => ops.logistic(a),
  (a) => ops.sqrt(ops.add(1, ops.square(a))),
  (a) => ops.log(ops.add(1.5, ops.square(a))),
  (a) => ops.powf(ops.add(1, ops.square(a)), 0.7),
  (a) => ops.abs(a),
  (a) => ops.relu(a),
  (a) => ops.clamp(a, -1, 1.5),
  (a) => ops.erf(a),
  (a) => ops.sinXDivX(a),
  (a) => ops.besselJ(a, 1),
  (a) => ops.neg(a),
  (a) => ops.sum(a),
  (a) => ops.max(a),
  (a) => ops.norm2(a),
  (a) => ops.normalize(a),
  (a) => ops.maternKernel(ops.sqNorm2(a), 2.5, 1.3),
  (a) => ops.elem(a, a.dim - 1),
  (a) => (a.dim > 2 ? ops.extract(a, 1, a.dim - 1) : undefined),
  (a) => (a.dim > 2 ? ops.extract(a, 0, Math.ceil(a.dim / 2), 2) : undefined),
  (a) => (a.dim < 4 ? ops.extractT(a, 1, a.dim + 2) : undefined),
  (a) => (a.dim < 4 ? ops.extractT(a, 0, 2 * a.dim, 2) : undefined),
  (a) => (a.dim === 1 ? ops.sumT(a, 3) : undefined),
];

const leaf: fc.Arbitrary<VectorExpr> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<VectorExpr>(...INPUTS) },
  { weight: 1, arbitrary: fc.integer({ min: -8, max: 8 }).map((n) => ops.constant(n / 4)) },
);

/** A random formula of `depth` operations on one another; an operation that does not fit is left out. */
export function randomFormula(depth: number): fc.Arbitrary<VectorExpr> {
  if (depth === 0) return leaf;
  const inner = randomFormula(depth - 1);
  return fc
    .tuple(fc.nat(OPERATIONS.length - 1), inner, fc.oneof(inner, leaf), fc.boolean())
    .map(([at, a, b, shared]) => {
      // The same part twice, often enough that rules for equal arguments apply.
      const made = OPERATIONS[at]!(a, shared && at % 3 === 0 ? a : b);
      return made ?? OPERATIONS[15 + (at % 15)]!(a, b)!;
    });
}
