import type { LinearCell } from '../cells.js';
import { evenlySpread } from '../statistics.js';
import type { FloatArray } from './operation.js';

/** What LAPACK's own tests accept of a scaled residual. */
export const RESIDUAL_LIMIT = 30;

/** Multiply-adds that one product of a check may take over the whole batch: a fraction of a second. */
const MOST_MULTIPLY_ADDS = 2e8;
const LEAST_COLUMNS = 8;

/** A row-major matrix of one batch entry. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: FloatArray;
}

/** Batch entry `entry` of matrices that lie one after the other. */
export function entryOf(
  data: FloatArray | undefined,
  rows: number,
  columns: number,
  entry: number,
): Matrix {
  const size = rows * columns;
  const part = data?.subarray(entry * size, (entry + 1) * size);
  if (part?.length !== size) throw new RangeError(`no ${rows} x ${columns} matrix ${entry}`);
  return { rows, columns, data: part };
}

export function transposed({ rows, columns, data }: Matrix): Matrix {
  const out = new Float64Array(data.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) out[j * rows + i] = data[i * columns + j] ?? NaN;
  }
  return { rows: columns, columns: rows, data: out };
}

/** The distance from 1 to the next number. */
export function epsilonOf({ dtype }: Pick<LinearCell, 'dtype'>): number {
  return dtype === 'float32' ? 2 ** -23 : 2 ** -52;
}

/** The largest sum of magnitudes in a column. NaN where there is one. */
export function norm1({ rows, columns, data }: Matrix): number {
  const sums = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      sums[j] = (sums[j] ?? NaN) + Math.abs(data[i * columns + j] ?? NaN);
    }
  }
  return largest(sums);
}

/** The largest; NaN where there is one. */
export function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Number.isNaN(value) ? NaN : Math.max(most, value);
  return most;
}

/** Columns of a product that are checked: all, or as many as are quick, evenly spread. */
export function checkedColumns({ n, batch }: LinearCell, columns: number): readonly number[] {
  const quick = Math.floor(MOST_MULTIPLY_ADDS / (n * n * batch));
  return evenlySpread(columns, Math.max(LEAST_COLUMNS, quick));
}

/** The 1-norm, over the given columns, of `left right - wanted`, summed in float64; `wanted` is given by row and column. */
export function differenceNorm(
  left: Matrix,
  right: Matrix,
  columns: readonly number[],
  wanted: (row: number, column: number) => number,
): number {
  const lines = transposed(right);
  const norms = columns.map((column) => {
    const line = lines.data.subarray(column * lines.columns, (column + 1) * lines.columns);
    let sum = 0;
    for (let i = 0; i < left.rows; i++) {
      let value = 0;
      const start = i * left.columns;
      for (let k = 0; k < left.columns; k++)
        value += (left.data[start + k] ?? NaN) * (line[k] ?? NaN);
      sum += Math.abs(value - wanted(i, column));
    }
    return sum;
  });
  return largest(norms);
}

/** |q^T q - I| / (n eps) over some columns: LAPACK's criterion for orthonormal columns. */
export function orthogonality(q: Matrix, columns: readonly number[], epsilon: number): number {
  const off = differenceNorm(transposed(q), q, columns, (i, j) => (i === j ? 1 : 0));
  return off / (q.rows * epsilon);
}
