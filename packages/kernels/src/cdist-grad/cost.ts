import { dtypeBytes } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import { sizesOf } from './program.js';

/**
 * What a launch must do at least: the inputs read once, the output written once; for each n, m, k one
 * factor a phi(delta) and what multiplies it with every row of c.
 */
export function cdistGradCost(
  plan: { readonly dtype: PairwiseDType },
  step: { readonly slots: number; readonly special: number },
  scalars: Scalars,
  multiplySlots: (rows: number) => number = (rows) => rows,
): KernelCost {
  const { m, n, o, k, batch } = sizesOf(scalars);
  const layers = (stride: number | undefined): number =>
    stride === 0 ? Math.min(batch, 1) : batch;
  const elements =
    layers(scalars['batchStrideA']) * k * m +
    layers(scalars['batchStrideB']) * n * k +
    layers(scalars['batchStrideC']) * o * k +
    layers(scalars['batchStrideD']) * n * m +
    batch * o * n * m;
  const differences = batch * n * m * k;
  return {
    bytes: elements * dtypeBytes(plan.dtype),
    flops: differences * (step.slots + 2 * o),
    issueSlots: differences * (step.slots + multiplySlots(o)),
    specialOps: differences * step.special,
  };
}
