import type { Layout, PairwiseDType } from '../pairwise/problem.js';

/**
 * Points made ready for a pairwise problem: `y[l,m,k] = x[l,m,k] * scale[l,k]`, and with `normalise`
 * divided by the Euclidean norm of the row, where a row of zeros stays as it is.
 */
export interface RowsProblem {
  readonly dtype: PairwiseDType;
  /** Sizes to choose a plan by. A plan is right for every size. */
  readonly m: number;
  readonly k: number;
  readonly batch: number;
  /** Layout of x; y is row-major. */
  readonly layout: Layout;
  /** Whether features are scaled: by one number, or by values in memory per feature and batch entry. */
  readonly scale: boolean;
  readonly normalise: boolean;
  /** Whether the norms of the scaled rows are written too, densely as (batch, m). */
  readonly norms?: boolean;
}
