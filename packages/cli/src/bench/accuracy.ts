import { roundingUnit, type KernelCell } from './cells.js';
import { sizesOf, type FloatArray, type Truth } from './operations/operation.js';
import { OPERATIONS } from './operations/operations.js';
import { evenlySpread } from './statistics.js';

/** Results that are checked: some rows of the result, and some columns of each. */
export interface Sample {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/**
 * Largest and mean error. Of sampled results, and of sampled rows of reductions: against float64, in units of rounding (2^-24 or
 * 2^-53) of their scale. Of linear algebra: scaled residuals of the batch entries, in units of n eps norm, of which LAPACK's tests
 * accept less than 30.
 */
export interface ErrorInUnits {
  readonly max: number;
  readonly mean: number;
  readonly count: number;
}

const SAMPLE_ROWS = 6;
const SAMPLE_COLUMNS = 48;

/** Rows and columns spread over the result, its edges included. */
export function sampleOf(rows: number, columns: number): Sample {
  return { rows: evenlySpread(rows, SAMPLE_ROWS), columns: evenlySpread(columns, SAMPLE_COLUMNS) };
}

/**
 * Compares sampled rows of a result with what float64 gives from the same operands.
 * `resultRows[i]` is row `sample.rows[i]` of the result, all axes but the last flattened into rows.
 */
export function sampledError(
  cell: KernelCell,
  data: readonly FloatArray[],
  sample: Sample,
  resultRows: readonly ArrayLike<number>[],
): ErrorInUnits {
  const unit = roundingUnit(cell);
  const operation = OPERATIONS[cell.operation];
  const { rows: rowsOfEntry } = sizesOf(operation, cell);
  let max = 0;
  let sum = 0;
  let count = 0;
  sample.rows.forEach((row, i) => {
    const entry = Math.floor(row / rowsOfEntry);
    for (const column of sample.columns) {
      const truth = operation.truth(cell, data, entry, row % rowsOfEntry, column);
      const error = relativeError(resultRows[i]?.[column] ?? NaN, truth) / unit;
      max = Math.max(max, error);
      sum += error;
      count++;
    }
  });
  return { max, mean: count === 0 ? 0 : sum / count, count };
}

/** |got - truth| / scale; equal values err by 0, anything where 0 is right or a NaN by infinity. */
function relativeError(got: number, { value, scale }: Truth): number {
  if (Object.is(got, value) || got === value) return 0;
  const error = Math.abs(got - value) / scale;
  return Number.isNaN(error) ? Infinity : error;
}

/** Errors of batch entries or rows; a result that is no number errs by infinity. */
export function errorSummary(found: readonly number[]): ErrorInUnits {
  const errors = found.map((error) => (Number.isNaN(error) ? Infinity : error));
  const sum = errors.reduce((total, error) => total + error, 0);
  return {
    max: Math.max(0, ...errors),
    mean: errors.length === 0 ? 0 : sum / errors.length,
    count: errors.length,
  };
}
