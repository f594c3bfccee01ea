import type { OptionNames } from '@mercer/options';
import type { Value } from '@mercer/tensor/operation';
import { checkChoice } from '../checks.js';

/** What becomes of the losses of all elements or examples: their mean, their sum, or they themselves. */
export type Reduction = 'mean' | 'sum' | 'none';

/** An option of every loss. */
export interface ReductionOption {
  /** Default: 'mean'. */
  readonly reduction?: Reduction | undefined;
}

export const REDUCTION: OptionNames<ReductionOption> = { reduction: true };

/** @throws MercerError INVALID_ARGUMENT */
export const checkReduction = (what: string, value: Reduction = 'mean'): Reduction =>
  checkChoice(value, what, 'reduction', ['mean', 'sum', 'none']);

/** The losses of all, reduced. */
export function reduced(losses: Value, reduction: Reduction): Value {
  if (reduction === 'none') return losses;
  return reduction === 'mean' ? losses.mean() : losses.sum();
}
