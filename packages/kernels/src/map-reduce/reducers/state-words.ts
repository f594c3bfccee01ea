import type { PairwiseDType } from '../../pairwise/problem.js';
import type { Slot } from './reducer.js';

/** Words of the data type that a member of a running result takes. */
export const slotWords = ({ type }: Slot, dtype: PairwiseDType): 1 | 2 =>
  type === 'W' && dtype === 'float32' ? 2 : 1;

/** Words of the data type that a running result takes. */
export const wordsOf = (slots: readonly Slot[], dtype: PairwiseDType): number =>
  slots.reduce((sum, slot) => sum + slotWords(slot, dtype), 0);
