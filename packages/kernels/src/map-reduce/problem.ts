import type { Reduction } from '@mercer/formula';
import type { HalfDType } from './launched-plan.js';
import type { SumScheme } from './reducers/reducer.js';
import type { PairwiseDType } from '../dtype.js';

/** Kept rows of a range, roughly. */
export type RangeRows = 32 | 64 | 128;

/**
 * A formula of i, j and parameters, reduced over j for every i (axis 1), or over i for every j (axis 0).
 * Results and inputs have the data type, but for inputs stored in 16 bits; row numbers in results are int32.
 */
export interface MapReduceProblem {
  readonly reduction: Reduction;
  /**
   * Reductions over the same axis that the same pass computes; what their formulas share is computed once.
   * Reduction number n, from 1, gives `out<n>` and `index<n>`.
   */
  readonly further?: readonly Reduction[] | undefined;
  /** Block-sparse: the launch says which rows each kept row is reduced over, see `planRanges`. Default false. */
  readonly ranges?: boolean | undefined;
  /** Kept rows that a range has, where they are few: a block of a GPU keeps no more. Default: as many as it likes. */
  readonly rangeRows?: RangeRows | undefined;
  readonly dtype: PairwiseDType;
  /** Inputs by position that are stored in 16 bits; only with float32, which computes and which results have. */
  readonly storage?: Readonly<Record<number, HalfDType>> | undefined;
  /**
   * What sums, means and sums of exponentials are held in while they are added up: float64 costs float32 data little in
   * blocks, and 2 to 64 times an addition of a GPU in the scheme 'direct'. Default: the data type.
   */
  readonly accumulate?: PairwiseDType | undefined;
  /**
   * How they are added up. 'block' (default): tiles of at most 256 terms in the data type, then the sums of tiles. 'direct':
   * term by term. 'kahan': term by term with what each addition lost (Kahan, CACM 8, 1965).
   */
  readonly sumScheme?: SumScheme | undefined;
  /**
   * Functions of formulas by the special-function unit of a GPU, in float32, within the bounds of `FAST_TEXTS`. On a CPU and in float64 it
   * changes nothing: what is computed keeps these bounds too. Default false.
   */
  readonly fastMath?: boolean | undefined;
  /** Sizes to choose a plan by. A plan is right for every size. */
  readonly rowsI: number;
  readonly rowsJ: number;
  readonly batch: number;
}

const NO_MORE = {
  further: undefined,
  ranges: undefined,
  rangeRows: undefined,
  storage: undefined,
  accumulate: undefined,
  sumScheme: undefined,
  fastMath: undefined,
};

/** A problem that has every property: nothing is looked for on Object.prototype. */
export const wholeProblem = (problem: MapReduceProblem): MapReduceProblem => ({
  ...NO_MORE,
  ...problem,
});
