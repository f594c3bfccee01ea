// What the program under page/ must give, in float64 by loops that know nothing of Mercer.
import { points, targets } from './page/data.mjs';

const LR = 0.5;
const SHIFT = 0.1;

/** @param {(a: number[], b: number[]) => number} entry */
const matrix = (entry) => points.map((a) => points.map((b) => entry(a, b)));
const squared = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
  a.reduce((sum, one, k) => sum + (one - (b[k] ?? 0)) ** 2, 0);
const sumOf = (/** @type {readonly number[]} */ row) => row.reduce((sum, one) => sum + one, 0);

/** @param {number} p */
const distances = (p) =>
  matrix((a, b) => sumOf(a.map((one, k) => Math.abs(one - (b[k] ?? 0)) ** p)) ** (1 / p));

/** Gauss and Jordan, of a matrix that needs no pivots. @param {number[][]} a @param {number[]} b */
function solve(a, b) {
  const rows = a.map((row, i) => [...row, b[i] ?? 0]);
  rows.forEach((pivot, i) => {
    const head = pivot[i] ?? 1;
    pivot.forEach((one, k) => (pivot[k] = one / head));
    rows.forEach((row, r) => {
      const factor = row[i] ?? 0;
      if (r !== i) row.forEach((one, k) => (row[k] = one - factor * (pivot[k] ?? 0)));
    });
  });
  return rows.map((row) => [row.at(-1) ?? NaN]);
}

/** By rotations of Jacobi, in ascending order. @param {readonly number[][]} symmetric */
function eigenvalues(symmetric) {
  const a = symmetric.map((row) => Float64Array.from(row));
  const at = (/** @type {number} */ i, /** @type {number} */ j) => a[i]?.[j] ?? 0;
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let p = 0; p < a.length; p++) {
      for (let q = p + 1; q < a.length; q++) {
        const angle = Math.atan2(2 * at(p, q), at(q, q) - at(p, p)) / 2;
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        for (const row of a) {
          const [x, y] = [row[p] ?? 0, row[q] ?? 0];
          [row[p], row[q]] = [c * x - s * y, s * x + c * y];
        }
        const [up, uq] = [a[p]?.slice() ?? [], a[q]?.slice() ?? []];
        for (let k = 0; k < a.length; k++) {
          const [x, y] = [up[k] ?? 0, uq[k] ?? 0];
          /** @type {any} */ (a[p])[k] = c * x - s * y;
          /** @type {any} */ (a[q])[k] = s * x + c * y;
        }
      }
    }
  }
  return a.map((row, i) => row[i] ?? NaN).sort((x, y) => x - y);
}

const bell = matrix((a, b) => Math.exp(-squared(a, b)));
const gaussian = matrix((a, b) => Math.exp(-squared(a, b) / 2) + (a === b ? SHIFT : 0));

/** @type {Record<string, unknown>} */
export const expected = {
  cdist: distances(1.5),
  runKernel: gaussian,
  lazySum: bell.map((row) => [sumOf(row)]),
  nearest: distances(2).map((row) =>
    row
      .map((d, j) => ({ d, j }))
      .sort((x, y) => x.d - y.d)
      .slice(0, 2)
      .map(({ j }) => j),
  ),
  arithmetic: points.map((row) => sumOf(row.map((one) => Math.exp(2 * one + 1)))),
  solveCholesky: solve(gaussian, targets),
  eigh: eigenvalues(gaussian),
  grad: points.map((a, i) =>
    a.map((one, k) => sumOf(points.map((b, j) => -2 * (one - (b[k] ?? 0)) * (bell[i]?.[j] ?? 0)))),
  ),
  cg: solve(
    bell.map((row, i) => row.map((one, j) => one + (i === j ? SHIFT : 0))),
    targets,
  ),
  // Its first step goes by the rate, against the sign of the gradient.
  adam: [1 - LR, 2 + LR],
  prepared: distances(2),
};

/** What else a page says of itself. */
export const where = {
  device: 'cpu',
  executor: 'interpreted',
  cuda: false,
  lapack: false,
  cache: 'off',
  gpu: 'NO_BACKEND',
};
