import type { Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import { entryOf, together, type Numbers } from '../reference.test-support.js';

/** Rows of i, rows of j, and components of KeOps' own small tests. */
export const [M, N, D]: readonly [number, number, number] = [10, 6, 3];

/** Demands absolute differences within what KeOps' own tests allow. */
export async function expectNear(
  found: Tensor,
  wanted: ArrayLike<number> | undefined,
  tolerance: number,
): Promise<void> {
  const values = (await found.toTypedArray()) as Float32Array;
  expect(values).toHaveLength(wanted?.length ?? -1);
  for (const [at, value] of values.entries()) {
    expect(Math.abs(value - (wanted?.[at] ?? NaN)), `number ${at}`).toBeLessThan(tolerance);
  }
}

/** A row of one input of a formula. */
export type Row = readonly number[];

/** What reduces the terms of one row of results, each with the components of the formula. */
export type Reduce = (terms: readonly Row[]) => readonly number[];

/**
 * A reduction by plain loops over what it means: for each batch entry and each kept row, `term` of the rows of every pair, reduced.
 * It knows the data and the sides that they follow, and nothing of what is tested.
 */
export function loops(
  data: readonly Numbers[],
  sides: readonly ('i' | 'j' | 'parameter')[],
  term: (...rows: readonly Row[]) => Row,
  reduce: Reduce,
  axis: 'i' | 'j' = 'j',
): number[] {
  const batch = together(data.map((one) => one.batch));
  const entries = batch.reduce((product, size) => product * size, 1);
  const rowsOf = (side: 'i' | 'j'): number => data[sides.indexOf(side)]?.rows ?? 1;
  const wanted: number[] = [];
  for (let entry = 0; entry < entries; entry++) {
    for (let kept = 0; kept < rowsOf(axis === 'j' ? 'i' : 'j'); kept++) {
      const terms: Row[] = [];
      for (let reduced = 0; reduced < rowsOf(axis); reduced++) {
        const rows = data.map(({ batch: own, rows: count, dim, values }, at) => {
          const side = sides[at];
          const row = side === 'parameter' ? 0 : side === axis ? reduced : kept;
          const first = (entryOf(batch, own, entry) * count + row) * dim;
          return [...values.subarray(first, first + dim)];
        });
        terms.push(term(...rows));
      }
      wanted.push(...reduce(terms));
    }
  }
  return wanted;
}

const columns = (terms: readonly Row[]): readonly Row[] =>
  (terms[0] ?? []).map((_, k) => terms.map((one) => one[k] ?? NaN));

const total = (values: Row): number => values.reduce((sum, one) => sum + one, 0);

/** The sum of each component. */
export const sums: Reduce = (terms) => columns(terms).map(total);

/** `log sum_j w_j exp(f_j)` for each component of w, where a term is f and then w, or f alone. */
export const logSums: Reduce = (terms) => {
  const [f = [], ...weights] = columns(terms);
  const all = weights.length === 0 ? [f.map(() => 1)] : weights;
  return all.map((w) => Math.log(total(f.map((one, j) => (w[j] ?? NaN) * Math.exp(one)))));
};

/** `sum_j w_j exp(f_j) / sum_j exp(f_j)` for each component of w, where a term is f and then w. */
export const softMaxSums: Reduce = (terms) => {
  const [f = [], ...weights] = columns(terms);
  const shares = f.map(Math.exp);
  return weights.map((w) => total(w.map((one, j) => one * (shares[j] ?? NaN))) / total(shares));
};

/** The squared distance of two rows. */
export const squaredDistance = (x: Row = [], y: Row = []): number =>
  total(x.map((one, k) => (one - (y[k] ?? NaN)) ** 2));
