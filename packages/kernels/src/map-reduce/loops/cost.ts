import { dtypeBytes } from '../../dtype.js';
import type { KernelCost, Scalars } from '../../emitted-kernel.js';
import { inputBytes, rowsOf } from '../params.js';
import type { PairTilePlan } from './plan-types.js';

/** What a launch must do at least: each input read once, every operation once at every pair of rows. */
export function pairTileCost(plan: PairTilePlan, scalars: Scalars): KernelCost {
  const { batch = 0 } = scalars;
  const { kept, reduced } = rowsOf(plan, scalars);
  return {
    bytes: batch * (inputBytes(plan, scalars) + kept * plan.width * dtypeBytes(plan.dtype)),
    flops: batch * kept * reduced * plan.operations,
  };
}
