import { dtypeBytes } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { countOps } from '../pairwise/cpu/plan.js';
import type { PairwiseGradientPlan } from './gradient-plan.js';
import { planExpressions } from './plan-expressions.js';

/** What a launch must do: operands and upstream gradient read once, each expression of a pair and k once. */
export function gradientCost(plan: PairwiseGradientPlan, scalars: Scalars): KernelCost {
  const { m = 0, n = 0, k = 0, batch = 0 } = scalars;
  const { inner, sums } = planExpressions(plan);
  const first = plan.readsSum ? 1 + countOps(inner) : 0;
  const second = sums.reduce(
    (total, { term }) => total + (term === undefined ? 0 : 1 + countOps(term)),
    0,
  );
  const elements = (m + n) * k + m * n + (plan.target === 'rows' ? m * k * plan.parts : 0);
  const operations = m * n * k * batch * (first + second);
  return {
    bytes: elements * batch * dtypeBytes(plan.dtype),
    flops: operations,
    issueSlots: operations,
  };
}
