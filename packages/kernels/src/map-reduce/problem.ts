import type { Reduction } from '@mercer/formula';
import type { HalfDType } from './half-storage.js';
import type { PairwiseDType } from '../pairwise/problem.js';

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
  readonly further?: readonly Reduction[];
  /** Block-sparse: the launch says which rows each kept row is reduced over, see `planRanges`. Default false. */
  readonly ranges?: boolean;
  readonly dtype: PairwiseDType;
  /** Inputs by position that are stored in 16 bits; only with float32, which computes and which results have. */
  readonly storage?: Readonly<Record<number, HalfDType>>;
  /** Sizes to choose a plan by. A plan is right for every size. */
  readonly rowsI: number;
  readonly rowsJ: number;
  readonly batch: number;
}
