import type { DeviceLimits } from '../device-limits.js';
import { checkProblem } from './check-problem.js';
import { planCpuPairwise } from './cpu/plan.js';
import { planCudaPairwise } from './cuda/plan.js';
import type { PairwisePlan } from './plan-types.js';
import type { PairwiseProblem } from './problem.js';

/**
 * The plan of a pairwise problem on a device: plain frozen data, the same for the same arguments.
 * Throws a `PlanError` for expressions that a plan cannot pad with zeros, for variables that no launch
 * binds, and for a symmetric problem whose operands or pairs differ when they are exchanged.
 *
 * ```ts
 * import { normExpressions, planPairwise } from '@mercer/kernels';
 * const plan = planPairwise(
 *   {
 *     ...normExpressions(1),
 *     dtype: 'float32',
 *     m: 30000,
 *     n: 30000,
 *     k: 1024,
 *     batch: 1,
 *     layoutA: 'row',
 *     layoutB: 'row',
 *     layoutOut: 'row',
 *     alignedA: true,
 *     alignedB: true,
 *     alignedOut: true,
 *   },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 2, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary);
 * ```
 */
export function planPairwise(problem: PairwiseProblem, limits: DeviceLimits): PairwisePlan {
  checkProblem(problem);
  return limits.kind === 'cuda'
    ? planCudaPairwise(problem, limits)
    : planCpuPairwise(problem, limits);
}
