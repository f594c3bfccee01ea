import type { PivotType } from '@mercer/cuda-runtime';
import { mostExchangedRows } from '@mercer/kernels';
import type { LinalgDType } from '../checks.js';
import { transposed, type MatrixOperand } from '../operand.js';

/** How the library factors a matrix into L and U. */
export interface LuPlan {
  /** int32: the routines of one element type; int64: those for matrices of any size. */
  readonly pivots: PivotType;
  /** The transpose is factored, and solves are with the transpose of that. */
  readonly transposed: boolean;
  /** What exchanges the rows of the right-hand sides. */
  readonly exchange: 'library' | 'kernel';
}

/** What they are for: solutions alone, or something that needs the factors of the matrix itself. */
export type LuUse = 'solution' | 'factor';

/** What a plan depends on. */
export interface LuProblem {
  readonly dtype: LinalgDType;
  readonly n: number;
  /** Right-hand sides. */
  readonly columns: number;
  readonly use: LuUse;
  /** Matrices, where nothing is done beside the solves; default several. */
  readonly count?: number;
}

/**
 * Whether the transpose is factored. Milliseconds on an H200, order 8192, 16 right-hand sides:
 *
 * |         | factor | solve | solve with the transpose | copy | transposing copy |
 * | ------- | ------ | ----- | ------------------------ | ---- | ---------------- |
 * | float32 | 33.6   | 5.3   | 6.3                      | 0.14 | 0.51             |
 * | float64 | 37.5   | 21.0  | 6.5                      | 0.26 | 0.57             |
 *
 * The solves differ by more than the copies do, so how the matrix lies in memory has no say. Factors that are kept are promised
 * to be those of the matrix itself; as many right-hand sides as an inverse has were not measured.
 */
const TRANSPOSED: { readonly [U in LuUse]: { readonly [D in LinalgDType]: boolean } } = {
  solution: { float32: false, float64: true },
  factor: { float32: false, float64: false },
};

/** Elements that the routines with int32 pivots can count. */
const INT_ELEMENTS = 2 ** 31;

/** From this order on a matrix by itself is worth three launches in place of one call. */
const LEAST_EXCHANGED = 2048;

/**
 * With int32 pivots a solve exchanges rows quicker: 0.4 to 0.6 ms less where the table above was measured. Of the 5.3 ms of a solve
 * 0.9 are left for that, one exchange after the other in the device's memory; with columns in shared memory factor and solve together
 * take 38.1 ms instead of 39.1.
 */
export function planLU({ dtype, n, columns, use, count }: LuProblem): LuPlan {
  const pivots = n * Math.max(n, columns) < INT_ELEMENTS ? 'int32' : 'int64';
  const transposed = TRANSPOSED[use][dtype];
  const isAlone = count === 1 && n >= LEAST_EXCHANGED && n <= mostExchangedRows(dtype);
  const exchange = pivots === 'int32' && !transposed && isAlone ? 'kernel' : 'library';
  return { pivots, transposed, exchange };
}

/** The matrix that is factored. */
export function factored(a: MatrixOperand, plan: LuPlan | undefined): MatrixOperand {
  return plan?.transposed === true ? transposed(a) : a;
}
