import { FormulaError } from '../../formula-error.js';
import { dimError, integer, toVector } from '../check-arguments.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';
import { add, div, greaterOrEqual, lessThan, mul, neg, square, sub } from './arithmetic.js';
import { exp, log, minimum } from './functions.js';
import { radialPower } from './radial-kernels.js';
import { elem, extract } from './structure.js';

/**
 * The `m - order - 1` B-splines of an order on m ascending knots, at the scalar x, by the recursion
 * of de Boor and Cox; 0/0 at repeated knots counts as 0. Differentiable by x and by the knots.
 */
export function bSpline(knots: VectorOperand, x: VectorOperand, order: number): VectorExpr {
  const [t, at] = [toVector('BSpline', knots), toVector('BSpline', x)];
  integer('BSpline', 'order', order, 0, 16);
  if (at.dim !== 1 || t.dim < order + 2) {
    throw dimError(
      'BSpline',
      `there are ${t.dim} knots for order ${order}, and x has dim ${at.dim}`,
      `Give at least ${order + 2} knots and an x of dim 1.`,
    );
  }
  const m = t.dim;
  let basis = mul(greaterOrEqual(at, extract(t, 0, m - 1)), lessThan(at, extract(t, 1, m - 1)));
  for (let k = 1; k <= order; k++) {
    const count = m - k - 1;
    const width = (start: number): VectorExpr =>
      radialPower(sub(extract(t, start + k, count), extract(t, start, count)), -1);
    const rising = mul(sub(at, extract(t, 0, count)), width(0));
    const falling = mul(sub(extract(t, k + 1, count), at), width(1));
    basis = add(mul(rising, extract(basis, 0, count)), mul(falling, extract(basis, 1, count)));
  }
  return basis;
}

/** Cells of the table of a soft dynamic time warping, each a handful of nodes. */
const MAX_CELLS = 4096;

/**
 * Soft dynamic time warping of two series of scalars with squared differences, smoothed by the
 * scalar gamma > 0. Differentiable by all three. Cuturi and Blondel, ICML 2017.
 */
export function softDtwSqDist(
  x: VectorOperand,
  y: VectorOperand,
  gamma: VectorOperand,
): VectorExpr {
  const name = 'SoftDTW_SqDist';
  const [a, b, g] = [toVector(name, x), toVector(name, y), toVector(name, gamma)];
  if (g.dim !== 1) throw dimError(name, `gamma has dim ${g.dim}`, 'Pass a gamma of dim 1.');
  if (a.dim * b.dim > MAX_CELLS) {
    throw new FormulaError(
      'LIMIT_EXCEEDED',
      `cannot build ${name}: series of ${a.dim} and ${b.dim} make ${a.dim * b.dim} cells and the ` +
        `limit is ${MAX_CELLS}. Shorten or subsample them.`,
    );
  }
  const cost = (i: number, j: number): VectorExpr => square(sub(elem(a, i), elem(b, j)));
  let previous: VectorExpr[] = [];
  for (let i = 0; i < a.dim; i++) {
    const row: VectorExpr[] = [];
    for (let j = 0; j < b.dim; j++) {
      const before = [previous[j - 1], previous[j], row[j - 1]].filter((r) => r !== undefined);
      row.push(before.length === 0 ? cost(i, j) : add(cost(i, j), softMin(before, g)));
    }
    previous = row;
  }
  return previous.at(-1)!;
}

/** `-gamma log(sum of exp(-r / gamma))`, shifted by the least r. */
function softMin(values: readonly VectorExpr[], gamma: VectorExpr): VectorExpr {
  const [first] = values;
  if (values.length === 1) return first!;
  const least = values.reduce((m, r) => minimum(m, r));
  const total = values
    .map((r) => exp(neg(div(sub(r, least), gamma))))
    .reduce((sum, term) => add(sum, term));
  return sub(least, mul(gamma, log(total)));
}
