import type { DType } from '../dtype.js';
import type { SumDType } from '../elementwise/sum-plan.js';

/** Types of the numbers that name rows. */
export type IndexDType = 'int32' | 'int64';

/** Most entries of an index, and most rows that it may name: positions are kept in 32 bits. */
export const MAX_INDEX_EXTENT = 2 ** 31 - 1;

/** Sizes to choose a plan by: entries of the index, rows that it names, elements of a row. A plan is right for every size. */
export interface ScatterSizes {
  readonly count: number;
  readonly rows: number;
  readonly columns: number;
}

/** `out[r, c]` is the sum of `values[n, c]` over the n with `index[n] = r`; other indices are left out. */
export interface ScatterAddProblem extends ScatterSizes {
  readonly from: SumDType;
  readonly to: SumDType;
  readonly index: IndexDType;
  /** Default true: the same bits every time. Else additions on a GPU come in any order, in the type of the result. */
  readonly deterministic?: boolean;
}

/** `out[r]` is the number of n with `index[n] = r`. */
export interface CountRowsProblem {
  readonly count: number;
  readonly rows: number;
  readonly index: IndexDType;
  readonly to: IndexDType;
}

/** `out[n, c] = x[index[n], c]`, and NaN (0 for types without one) where x has no such row. */
export interface GatherRowsProblem {
  readonly dtype: DType;
  readonly index: IndexDType;
}
