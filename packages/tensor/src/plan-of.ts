import type { CdistGradPlan, MapReducePlan, PairwisePlan } from '@mercer/kernels';
import type { Executed } from './program.js';
import { rememberedPlan, type Tensor } from './tensor.js';

/** A plan that a result tells, with what ran it. */
export type ResultPlan = (PairwisePlan | CdistGradPlan | MapReducePlan) & Executed;

/**
 * The plan that a result was computed with: a plain frozen value whose `summary` is one readable line, and whose `executor`
 * says whether the CPU ran compiled kernels or the interpreter. Results of `cdist`, `runKernel`, `weightedDifferences` and of reductions of
 * symbolic matrices tell one. Undefined for other tensors, among them views of such results and gradients, which are sums of
 * several, and for results without elements, which need no kernel.
 *
 * @example
 * ```ts
 * import { cdist, lazyI, lazyJ, planOf } from '@mercer/core';
 *
 * const place = { device: 'cpu' } as const;
 * const d = await cdist([[0, 0], [3, 4]], [[0, 0]], place);
 * console.log(planOf(d)?.summary, planOf(d)?.executor); // at first 'interpreted', where no kernel is in the cache
 * const sums = await lazyI([[0], [1]]).sqdist(lazyJ([[2]])).sum('j', place);
 * console.log(planOf(sums)?.summary);
 * ```
 */
export function planOf(result: Tensor): ResultPlan | undefined {
  return rememberedPlan(result) as ResultPlan | undefined;
}
