import { inputsOf, substituteVector, type Reduction, type VectorExpr } from '@mercer/formula';
import type { Input } from './input.js';

/** A reduction that a call computes, whatever its arguments are. */
export interface Task {
  /** Name of the operation, for messages. */
  readonly what: string;
  readonly reduction: Reduction;
  readonly inputs: readonly Input[];
}

/** Reductions, at least one. */
export type Reductions = readonly [Reduction, ...Reduction[]];

/** Reductions over the same rows along the same axis, which one call computes. */
export interface JointTask extends Omit<Task, 'reduction'> {
  readonly reductions: Reductions;
  /** What the caller calls them, for messages; by place, none where there is one reduction. */
  readonly names: readonly string[] | undefined;
}

/** The task of one reduction as that of several. */
export function jointly({ reduction, ...rest }: Task): JointTask {
  return { ...rest, reductions: [reduction], names: undefined };
}

/** How messages call a reduction of a task. */
export function labelOf(task: JointTask, place: number): string {
  const { what, names } = task;
  const name = names?.[place];
  return name === undefined ? what : `${what}: ${name}`;
}

/** A reduction with parts of its formulas replaced, all at once. */
export function replaced(of: Reduction, parts: ReadonlyMap<VectorExpr, VectorExpr>): Reduction {
  if (parts.size === 0) return of;
  const { formula, weight } = of;
  return Object.freeze({
    ...of,
    formula: substituteVector(formula, parts),
    weight: weight && substituteVector(weight, parts),
  });
}

/** Places of the inputs that formulas read. Others tell sizes alone. */
export function usedBy(formulas: readonly VectorExpr[]): ReadonlySet<number> {
  return new Set(inputsOf(...formulas).map(({ position }) => position));
}
