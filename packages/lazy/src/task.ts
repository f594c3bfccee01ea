import { inputsOf, type Reduction } from '@mercer/formula';
import type { Input } from './input.js';

/** What a call computes, whatever its arguments are. */
export interface Task {
  /** Name of the operation, for messages. */
  readonly what: string;
  readonly reduction: Reduction;
  readonly inputs: readonly Input[];
}

/** The formulas of a reduction: that which is reduced, and the weight. */
export function formulasOf({ formula, weight }: Reduction): readonly Reduction['formula'][] {
  return weight === undefined ? [formula] : [formula, weight];
}

/** Places of the inputs that the formulas read. Others tell sizes alone. */
export function usedPlaces({ reduction }: Task): ReadonlySet<number> {
  return usedBy(formulasOf(reduction));
}

/** The same of formulas. */
export function usedBy(formulas: readonly Reduction['formula'][]): ReadonlySet<number> {
  return new Set(inputsOf(...formulas).map(({ position }) => position));
}
