import type { CdistGradPlan, PairwisePlan } from '@mercer/kernels';
import type { Tensor } from '@mercer/tensor';
import { resultPlan, type Executed } from '@mercer/tensor/operation';

/** A plan of any operation of this package, with what ran it. */
export type ResultPlan = (PairwisePlan | CdistGradPlan) & Executed;

/**
 * The plan that a pairwise result was computed with: a plain frozen value whose `summary` is one readable line, and whose `executor`
 * says whether the CPU ran compiled kernels or the interpreter. Undefined for a tensor that no pairwise operation wrote, and for
 * results without elements, which need no kernel.
 *
 * @example
 * ```ts
 * import { cdist, planOf } from '@mercer/pairwise';
 *
 * const d = await cdist([[0, 0], [3, 4]], [[0, 0]], { device: 'cpu' });
 * console.log(planOf(d)?.summary, planOf(d)?.executor); // at first 'interpreted', where no kernel is in the cache
 * ```
 */
export function planOf(result: Tensor): ResultPlan | undefined {
  return resultPlan(result) as ResultPlan | undefined;
}
