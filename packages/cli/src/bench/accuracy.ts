import type { Cell } from './cells.js';
import type { Operands } from './data-sets.js';
import { plainDistance } from './plain-distance.js';

/** Distances that are checked: some rows of the result, and some columns of each. */
export interface Sample {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/** Largest and mean error of sampled distances, relative to the float64 value, in units of rounding (2^-24 or 2^-53). */
export interface ErrorInUnits {
  readonly max: number;
  readonly mean: number;
  readonly count: number;
}

const SAMPLE_ROWS = 6;
const SAMPLE_COLUMNS = 48;

/** Rows and columns spread over the result, its edges included. */
export function sampleOf(rows: number, columns: number): Sample {
  return { rows: spread(rows, SAMPLE_ROWS), columns: spread(columns, SAMPLE_COLUMNS) };
}

function spread(extent: number, count: number): number[] {
  const picked = new Set<number>();
  for (let i = 0; i < count; i++) {
    picked.add(Math.round((i * (extent - 1)) / Math.max(1, count - 1)));
  }
  return [...picked];
}

/**
 * Compares sampled rows of a result with distances computed in float64 from the same operands.
 * `resultRows[i]` is row `sample.rows[i]` of the result, all batches flattened into rows.
 */
export function sampledError(
  cell: Pick<Cell, 'dtype' | 'p' | 'm' | 'n' | 'k'>,
  operands: Operands,
  sample: Sample,
  resultRows: readonly ArrayLike<number>[],
): ErrorInUnits {
  const unit = cell.dtype === 'float32' ? 2 ** -24 : 2 ** -53;
  let max = 0;
  let sum = 0;
  let count = 0;
  sample.rows.forEach((row, i) => {
    const block = Math.floor(row / cell.m); // the batch this row lies in
    for (const column of sample.columns) {
      const atB = (block * cell.n + column) * cell.k;
      const truth = plainDistance(operands.a, row * cell.k, operands.b, atB, cell.k, cell.p);
      const error = relativeError(resultRows[i]?.[column] ?? NaN, truth) / unit;
      max = Math.max(max, error);
      sum += error;
      count++;
    }
  });
  return { max, mean: count === 0 ? 0 : sum / count, count };
}

/** |got - truth| / truth; equal values err by 0, a distance where 0 is right or a NaN by infinity. */
function relativeError(got: number, truth: number): number {
  if (Object.is(got, truth) || got === truth) return 0;
  const error = Math.abs(got - truth) / Math.abs(truth);
  return Number.isNaN(error) ? Infinity : error;
}
