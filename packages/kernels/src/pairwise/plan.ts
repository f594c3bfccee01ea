import { evaluate, print, variables } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { planPairwiseCpu } from './cpu-plan.js';
import { planCudaPairwise } from './cuda/plan-cuda.js';
import type { PairwisePlan } from './plan-types.js';
import type { PairwiseProblem } from './problem.js';

/**
 * The plan of a pairwise problem on a device: plain frozen data, the same for the same arguments.
 * Throws a `RangeError` for expressions that a plan cannot pad with zeros.
 *
 * ```ts
 * import { normExpressions, planPairwise } from '@mercer/kernels';
 * const plan = planPairwise(
 *   {
 *     ...normExpressions(1),
 *     ...{ dtype: 'float32', m: 30000, n: 30000, k: 1024, batch: 1 },
 *     ...{ layoutA: 'row', layoutB: 'row', layoutOut: 'row' },
 *     ...{ alignedA: true, alignedB: true, alignedOut: true },
 *   },
 *   {
 *     ...{ kind: 'cuda', arch: 'sm_90a', computeCapability: [9, 0], multiprocessors: 132 },
 *     ...{ maxThreadsPerBlock: 1024, registersPerMultiprocessor: 65536, l2Bytes: 62914560 },
 *     ...{ sharedMemPerBlockOptin: 232448, sharedMemPerMultiprocessor: 233472 },
 *   },
 * );
 * console.log(plan.summary);
 * ```
 */
export function planPairwise(problem: PairwiseProblem, limits: DeviceLimits): PairwisePlan {
  checkExpressions(problem);
  return limits.kind === 'cuda'
    ? planCudaPairwise(problem, limits)
    : planPairwiseCpu(problem, limits);
}

function checkExpressions({ inner, outer, p = 1.5 }: PairwiseProblem): void {
  const strangers = [
    ...variables(inner).filter((name) => !['a', 'b', 'p'].includes(name)),
    ...variables(outer).filter((name) => !['s', 'p'].includes(name)),
  ];
  if (strangers.length > 0) {
    throw new RangeError(
      `cannot plan: ${strangers.join(', ')} is no variable of a pairwise problem. ` +
        `Use a, b and p in the inner expression, s and p in the outer one.`,
    );
  }
  const atZero = evaluate(inner, { a: 0, b: 0, p });
  if (atZero !== 0) {
    throw new RangeError(
      `cannot plan: ${print(inner)} is ${String(atZero)} at a = b = 0, and k is padded with zeros. ` +
        `Use an inner expression that is 0 there.`,
    );
  }
}
