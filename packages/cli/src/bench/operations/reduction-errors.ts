import { roundingUnit, type ReductionCell } from '../cells.js';
import { evenlySpread } from '../statistics.js';
import type { FloatArray, ResultArray } from './operation.js';
import { largest } from './residuals.js';

/** One row of a problem: a point x, all points y with their weights, and what was computed for it, result after result. */
interface Row {
  readonly cell: ReductionCell;
  readonly x: FloatArray;
  readonly y: FloatArray;
  readonly b: FloatArray;
  readonly got: ResultArray;
}

/** The error of one row in float64: relative to its scale, not yet in units. NaN where the result is wrong altogether. */
export type RowError = (row: Row) => number;

/** Pairs of components that a check may take: a fraction of a second. */
const MOST_COMPONENTS = 3e8;
const LEAST_ROWS = 4;
const MOST_ROWS = 48;

/** Rows of the results, batch entries one after the other, that are checked: as many as are quick, evenly spread. */
export function checkedRows({ m, n, d, batch }: ReductionCell): readonly number[] {
  const quick = Math.floor(MOST_COMPONENTS / (n * d));
  return evenlySpread(m * batch, Math.min(MOST_ROWS, Math.max(LEAST_ROWS, quick)));
}

/** Errors of the checked rows in units of rounding. Throws RangeError where a result has another size. */
export function rowErrors(
  cell: ReductionCell,
  [x, y, b = new Float64Array(0)]: readonly FloatArray[],
  results: readonly ResultArray[],
  error: RowError,
): readonly number[] {
  const { operation, m, n, d, batch } = cell;
  if (x === undefined || y === undefined || results.length === 0) {
    throw new RangeError(`${operation} has two operands and a result`);
  }
  for (const { length } of results) {
    if (length > 0 && Number.isInteger(length / (m * batch))) continue;
    throw new RangeError(`${operation}: ${length} results for ${m * batch} rows`);
  }
  return checkedRows(cell).map((row) => {
    const entry = Math.floor(row / m);
    const found = error({
      cell,
      x: x.subarray(row * d, (row + 1) * d),
      y: y.subarray(entry * n * d, (entry + 1) * n * d),
      b: b.subarray(entry * n, (entry + 1) * n),
      got: rowOf(results, row, m * batch),
    });
    return found / roundingUnit(cell);
  });
}

/** A row of all results, one after the other. */
function rowOf(results: readonly ResultArray[], row: number, rows: number): ResultArray {
  const parts = results.map((result) => {
    const columns = result.length / rows;
    return result.subarray(row * columns, (row + 1) * columns);
  });
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return Float64Array.from(parts.flatMap((part) => [...part]));
}

/** Of `sum_j f(|x - y_j|^2) b_j`: relative to the sum of the terms' magnitudes. */
export function weightedSumErrors(f: (square: number) => number): RowError {
  return ({ cell, x, y, b, got }) => {
    let value = 0;
    let scale = 0;
    for (let j = 0; j < cell.n; j++) {
      const term = f(squaredDistance(x, y, j)) * (b[j] ?? NaN);
      value += term;
      scale += Math.abs(term);
    }
    return relative(got[0], value, scale);
  };
}

/** Of the Gaussian sum and each component of its gradient: relative to the sum of the terms' magnitudes, the largest. */
export const gradientErrors: RowError = ({ cell: { n, d }, x, y, b, got }) => {
  const values = new Float64Array(1 + d);
  const scales = new Float64Array(1 + d);
  const add = (at: number, term: number): void => {
    values[at] = (values[at] ?? NaN) + term;
    scales[at] = (scales[at] ?? NaN) + Math.abs(term);
  };
  for (let j = 0; j < n; j++) {
    const term = Math.exp(-squaredDistance(x, y, j)) * (b[j] ?? NaN);
    add(0, term);
    for (let c = 0; c < d; c++) add(1 + c, -2 * ((x[c] ?? NaN) - (y[j * d + c] ?? NaN)) * term);
  }
  return largest(Array.from(values, (value, at) => relative(got[at], value, scales[at] ?? NaN)));
};

/** Relative to 1 + |value|: a rounding of the sum moves the logarithm by 1 unit, one of the logarithm itself by |value|. */
export const logSumExpErrors: RowError = ({ cell: { n }, x, y, got }) => {
  const exponents = Float64Array.from({ length: n }, (_, j) => -squaredDistance(x, y, j));
  const most = exponents.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = exponents.reduce((total, exponent) => total + Math.exp(exponent - most), 0);
  const value = most + Math.log(sum);
  return relative(got[0], value, 1 + Math.abs(value));
};

/**
 * Of the row numbers of the nearest y, the nearest first: how far the squared distance of each is from that of the true
 * neighbour of this rank, relative to the latter; the largest. Which of several equally near rows is named is left open. NaN for a
 * number that stands twice or that no row has; beyond as many numbers as there are rows only -1 is right.
 */
export const neighbourErrors: RowError = ({ cell: { n }, x, y, got }) => {
  const found = got.subarray(0, n);
  if (new Set(found).size < found.length) return NaN;
  const squares = Float64Array.from({ length: n }, (_, j) => squaredDistance(x, y, j));
  const truths = smallest(squares, found.length);
  const errors = Array.from(truths, (truth, rank) =>
    relative(squares[found[rank] ?? -1], truth, truth),
  );
  const isPadded = got.subarray(n).every((index) => index === -1);
  return isPadded ? largest(errors) : NaN;
};

/** The smallest of a list, ascending. */
function smallest(values: Float64Array, count: number): Float64Array {
  const kept = new Float64Array(Math.min(count, values.length)).fill(Infinity);
  const last = kept.length - 1;
  for (const value of values) {
    if (!(value < (kept[last] ?? NaN))) continue;
    let at = last;
    for (; at > 0 && (kept[at - 1] ?? NaN) > value; at--) kept[at] = kept[at - 1] ?? NaN;
    kept[at] = value;
  }
  return kept;
}

/** From a point to row number `row` of y; NaN for a row that there is not. */
export function squaredDistance(x: FloatArray, y: FloatArray, row: number): number {
  const start = row * x.length;
  let sum = 0;
  for (let c = 0; c < x.length; c++) {
    const difference = (x[c] ?? NaN) - (y[start + c] ?? NaN);
    sum += difference * difference;
  }
  return sum;
}

function relative(got: number | undefined, value: number, scale: number): number {
  return got === value ? 0 : Math.abs((got ?? NaN) - value) / scale;
}
