import type { PairwiseDType } from '../../pairwise/problem.js';
import type { Accumulator } from './reducer.js';

/** Words of the data type that a member of a running result takes. */
export const accumulatorWords = ({ type }: Accumulator, dtype: PairwiseDType): 1 | 2 =>
  type === 'W' && dtype === 'float32' ? 2 : 1;

/** Words of the data type that a running result takes. */
export const wordsOf = (accumulators: readonly Accumulator[], dtype: PairwiseDType): number =>
  accumulators.reduce((sum, accumulator) => sum + accumulatorWords(accumulator, dtype), 0);
