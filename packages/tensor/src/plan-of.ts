import type { CdistGradPlan, MapReducePlan, PairwisePlan } from '@mercer/kernels';
import type { Executed } from './program.js';
import { rememberedPlan, type Tensor } from './tensor.js';

/** What is told of a call that is not planned as a whole: its launches. */
export interface StepsPlan {
  readonly kind: 'cpu' | 'cuda';
  /** The names of its kernels and routines, in order. */
  readonly summary: string;
}

/** A plan that a result tells, with what ran it; one that was interpreted in part was interpreted. */
export type ResultPlan = (PairwisePlan | CdistGradPlan | MapReducePlan | StepsPlan) & Executed;

/**
 * The plan that a result was computed with: a plain frozen value whose `summary` is one readable line, and whose `executor`
 * says whether the CPU ran compiled kernels or the interpreter. Results of `cdist`, `runKernel`, `weightedDifferences` and of reductions of
 * symbolic matrices tell how the work is divided; those of all other operations, gradients among them, tell their kernels by name. Undefined
 * for other tensors, among them views of results, and for results without elements, which need no kernel.
 *
 * @example
 * ```ts
 * import { cdist, lazyI, lazyJ, planOf } from '@mercer/core';
 *
 * const place = { device: 'cpu' } as const;
 * const d = await cdist([[0, 0], [3, 4]], [[0, 0]], place);
 * console.log(planOf(d)?.summary, planOf(d)?.executor); // such as cpu x86-64-v4 tile 1x16 block 1x16x256 swapped interpreted
 * const sums = await lazyI([[0], [1]]).sqdist(lazyJ([[2]])).sum('j', place);
 * console.log(planOf(sums)?.summary);
 * ```
 */
export function planOf(result: Tensor): ResultPlan | undefined {
  return rememberedPlan(result) as ResultPlan | undefined;
}
