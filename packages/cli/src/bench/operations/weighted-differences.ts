import { weightedDifferences } from '@mercer/core';
import { isSpecialisedNorm } from '@mercer/core/bench';
import { best } from '../limits.js';
import type { KernelCell } from '../cells.js';
import { makeOperands, type DataSet } from '../data-sets.js';
import { oneResult, type ElementOperation, type FloatArray } from './operation.js';
import { multiplyAdds } from './rates.js';

/**
 * Instructions that the factor a phi(delta) of one n, m, k needs at the least beside the multiply-adds with the rows of c:
 * the difference and the product with a; for p = 1 the sign goes into a by one instruction in place of the product.
 * Any other p adds the product of the exponent and the logarithm; its lg2 and ex2 are counted apart.
 */
function factorSlots(p: number): number {
  return p === 1 || p === 2 ? 2 : 3;
}

/** Sums of norm derivatives, weighted twice; see `weightedDifferences`. */
export const weightedDifferencesOperation: ElementOperation = {
  text: 'sum over k of c[o,k] a[k,m] sign(t) |t|^(p-1), t = d[n,m] - b[n,k]; sizes are M x N x O x K',
  operands: ({ m, n, k, o = 1 }) => [
    { name: 'a', shape: [k, m] },
    { name: 'b', shape: [n, k] },
    { name: 'c', shape: [o, k] },
    { name: 'd', shape: [n, m] },
  ],
  results: ({ m, n, o = 1 }) => [[o, n, m]],
  makeData,
  prepare: async ({ p }, operands) => {
    const [a, b, c, d] = operands;
    if (a === undefined || b === undefined || c === undefined || d === undefined) {
      throw new RangeError('four operands are needed');
    }
    const call = await weightedDifferences.prepare(a, b, c, d, { p });
    return oneResult(call.plan.summary, (options) => call(a, b, c, d, options));
  },
  arithmeticMs: (cell, limits) => {
    const rate = multiplyAdds(cell, limits);
    if (rate === undefined) return undefined;
    const factors = cell.m * cell.n * cell.k * cell.batch;
    const issueMs = ((factors * ((cell.o ?? 1) + factorSlots(cell.p))) / rate) * 1e3;
    if (cell.p === 1 || cell.p === 2) return issueMs;
    if (isSpecialisedNorm(cell.p)) return undefined; // products and roots: no loop measures them
    const special = best(limits, ['fp32-power-special'], 'pairsPerSecond');
    if (special === undefined || cell.dtype === 'float64') return undefined;
    return Math.max(issueMs, (factors / special) * 1e3);
  },
  truth: ({ m, n, k, p, o = 1 }, [a = [], b = [], c = [], d = []], entry, row, column) => {
    const [io, in_] = [Math.floor(row / n), row % n];
    const at = d[(entry * n + in_) * m + column] ?? NaN;
    let value = 0;
    let scale = 0;
    for (let i = 0; i < k; i++) {
      const delta = at - (b[(entry * n + in_) * k + i] ?? NaN);
      const phi = delta === 0 ? 0 : Math.sign(delta) * Math.abs(delta) ** (p - 1);
      const weight =
        (c[(entry * o + io) * k + i] ?? NaN) * (a[(entry * k + i) * m + column] ?? NaN);
      value += weight * phi;
      scale += Math.abs(weight * phi);
    }
    return { value, scale };
  },
};

/** Points b and d of one of the data sets, features in rows; a like a kernel matrix, uniform in [0, 1]; c normal. */
function makeData(set: DataSet, { dtype, m, n, k, batch, o = 1 }: KernelCell): FloatArray[] {
  const points = makeOperands(set, dtype, k * batch, m * batch, n);
  const weights = makeOperands('uniform', dtype, k * batch, 1, m, 2);
  const coefficients = makeOperands('normal', dtype, o * batch, 1, k, 3);
  return [
    weights.a,
    transposed(points.a, k, n, batch),
    coefficients.a,
    transposed(points.b, m, n, batch),
  ];
}

/** Every batch entry with its rows and columns exchanged. */
function transposed(data: FloatArray, rows: number, columns: number, batch: number): FloatArray {
  const out = data.slice();
  for (let entry = 0; entry < batch; entry++) {
    const start = entry * rows * columns;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        out[start + column * rows + row] = data[start + row * columns + column] ?? 0;
      }
    }
  }
  return out;
}
