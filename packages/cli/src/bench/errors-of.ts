import { errorSummary, sampledError, sampleOf, type ErrorInUnits } from './accuracy.js';
import {
  isLinear,
  isReduction,
  isSolver,
  type Cell,
  type KernelCell,
  type LinearCell,
  type ReductionCell,
  type SolverCell,
} from './cells.js';
import {
  sizesOf,
  type Float,
  type FloatArray,
  type Result,
  type Results,
} from './operations/operation.js';
import {
  LINEAR_OPERATIONS,
  OPERATIONS,
  REDUCTION_OPERATIONS,
  SOLVER_OPERATIONS,
} from './operations/operations.js';

/** The error of a result on the device against float64, in the way that the kind of the cell is judged. */
export async function errorsOf(
  cell: Cell,
  data: readonly FloatArray[],
  results: Results<Result>,
): Promise<ErrorInUnits> {
  if (isReduction(cell)) return rowErrorsOf(cell, data, results);
  const floats = results.filter(isFloat);
  return isLinear(cell) || isSolver(cell)
    ? residualOf(cell, data, floats)
    : errorOf(cell, data, floats);
}

function isFloat(result: Result): result is Float {
  return result.dtype !== 'int32';
}

async function residualOf(
  cell: LinearCell | SolverCell,
  data: readonly FloatArray[],
  results: Results,
): Promise<ErrorInUnits> {
  const values = await Promise.all(results.map((result) => result.toTypedArray()));
  return errorSummary(
    isSolver(cell)
      ? SOLVER_OPERATIONS[cell.operation].residuals(cell, data, values)
      : LINEAR_OPERATIONS[cell.operation].residuals(cell, data, values),
  );
}

async function rowErrorsOf(
  cell: ReductionCell,
  data: readonly FloatArray[],
  results: Results<Result>,
): Promise<ErrorInUnits> {
  const values = await Promise.all(results.map((result) => result.toTypedArray()));
  return errorSummary(REDUCTION_OPERATIONS[cell.operation].errors(cell, data, values));
}

async function errorOf(
  cell: KernelCell,
  data: readonly FloatArray[],
  [out]: Results,
): Promise<ErrorInUnits> {
  if (out === undefined) throw new RangeError(`${cell.operation} has no result`);
  const sizes = sizesOf(OPERATIONS[cell.operation], cell);
  const rows = sizes.rows * cell.batch;
  const sample = sampleOf(rows, sizes.columns);
  const flat = out.reshape([rows, sizes.columns]);
  const values: ArrayLike<number>[] = [];
  for (const row of sample.rows) {
    const line = flat.slice(row);
    values.push(await line.toTypedArray());
    line.dispose();
  }
  flat.dispose();
  return sampledError(cell, data, sample, values);
}
