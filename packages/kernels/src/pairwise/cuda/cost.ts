import { dtypeBytes } from '../../dtype.js';
import type { KernelCost, Scalars } from '../../emitted-kernel.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import type { PairStep } from '../../pair-tile/cuda/pair-arithmetic.js';
import { finishFunction } from './pair-step.js';

/**
 * What a pairwise launch must do at least: operands read once, the output written once; of a symmetric
 * problem one operand and one half of the pairs.
 */
export function pairwiseCost(
  plan: CudaPairwisePlan,
  step: Pick<PairStep, 'slots' | 'special'>,
  scalars: Scalars,
): KernelCost {
  const { m = 0, n = 0, k = 0, batch = 0, batchStrideA = 1, batchStrideB = 1 } = scalars;
  const layers = (stride: number): number => (stride === 0 ? Math.min(batch, 1) : batch);
  const symmetric = plan.symmetric === true;
  const other = symmetric ? 0 : layers(batchStrideB) * n * k;
  const elements = layers(batchStrideA) * m * k + other + batch * m * n;
  const outputs = batch * (symmetric ? (m * (m + 1)) / 2 : m * n);
  const pairs = outputs * k;
  const roots = outputs * finishFunction(plan).slots;
  return {
    bytes: elements * dtypeBytes(plan.dtype),
    flops: 2 * (pairs * step.slots + roots),
    issueSlots: pairs * step.slots + roots,
    specialOps: pairs * step.special,
  };
}
