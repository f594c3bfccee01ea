import { print, variables } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { PlanError } from '../plan-error.js';
import { planCpuCdistGrad } from './cpu/plan.js';
import { planCudaCdistGrad, type CdistGradPlanOptions } from './cuda/plan.js';
import { RUNTIME_DERIVATIVE } from './norm-derivative.js';
import type { CdistGradPlan } from './plan-types.js';
import type { CdistGradProblem } from './problem.js';

/**
 * The plan of a weighted sum of norm derivatives on a device: plain frozen data, the same for the same
 * arguments.
 *
 * Throws a `PlanError` for a factor in other variables than `delta` (and `p`, in the one run-time form).
 *
 * ```ts
 * import { normDerivative, planCdistGrad } from '@mercer/kernels';
 * const plan = planCdistGrad(
 *   {
 *     dtype: 'float32',
 *     phi: normDerivative(2),
 *     m: 1024,
 *     n: 1024,
 *     o: 16,
 *     k: 4096,
 *     batch: 1,
 *     alignedA: true,
 *     alignedB: true,
 *     alignedC: true,
 *     alignedOut: true,
 *   },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 2, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary);
 * ```
 */
export function planCdistGrad(
  problem: CdistGradProblem,
  limits: DeviceLimits,
  options: CdistGradPlanOptions = {},
): CdistGradPlan {
  const strangers = variables(problem.phi).filter((name) => name !== 'delta');
  if (strangers.length > 0 && problem.phi !== RUNTIME_DERIVATIVE) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot plan: ${print(problem.phi)} depends on ${strangers.join(', ')}. Use an expression in delta, ` +
        `or normDerivative('runtime').`,
    );
  }
  return limits.kind === 'cuda'
    ? planCudaCdistGrad(problem, limits, options)
    : planCpuCdistGrad(problem, limits);
}
