import { finish } from '@mercer/formula';
import { isInterpreted, type DeviceLimits } from '../device-limits.js';
import { scheduleCosts } from './choose-schedule.js';
import { planSums } from './plan-sums.js';
import { wholeProblem, type MapReduceProblem } from './problem.js';

/**
 * Whether the reductions of a problem are best computed by one kernel: a row per thread is their schedule (`chooseSchedule`). Tiles
 * are so much quicker for long vectors that a pass for each reduction takes less time than one pass without them. The
 * interpreter computes one reduction at a time.
 *
 * Throws a `PlanError` for unusual sums of what is no sum, as `planMapReduce` does.
 *
 * ```ts
 * import { ops, reduction, vi, vj } from '@mercer/formula';
 * import { takesOnePass } from '@mercer/kernels';
 * const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 } as const;
 * const both = (dim: number) => {
 *   const distance = ops.sqDist(vi(0, dim), vj(1, dim));
 *   const [sum, least] = [reduction('Sum', distance), reduction('Min', distance)];
 *   return { reduction: sum, further: [least], dtype: 'float32', rowsI: 9, rowsJ: 9, batch: 1 } as const;
 * };
 * console.log(takesOnePass(both(3), limits), takesOnePass(both(100), limits)); // true false
 * ```
 */
export function takesOnePass(given: MapReduceProblem, limits: DeviceLimits): boolean {
  const problem = wholeProblem(given);
  if (problem.further === undefined || problem.further.length === 0) return true;
  planSums(problem);
  if (isInterpreted(limits)) return false;
  const costs = finish(scheduleCosts(problem, limits));
  return costs['row per thread'] <= costs['pair tile'];
}
