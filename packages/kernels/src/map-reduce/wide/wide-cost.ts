import { dtypeBytes } from '../../dtype.js';
import type { KernelCost, Scalars } from '../../emitted-kernel.js';
import { rowsOf } from '../params.js';
import type { WidePlan } from './wide-plan-types.js';

/** What a launch must do at least: each input read once, every operation once at every pair of rows. */
export function wideCost(plan: WidePlan, scalars: Scalars): KernelCost {
  const { batch = 0, rowsI = 0, rowsJ = 0 } = scalars;
  const { kept, reduced } = rowsOf(plan, scalars);
  const rows = { i: rowsI, j: rowsJ, parameter: 1 };
  const read = plan.inputs.reduce(
    (sum, { category, dim, storage = plan.dtype }) =>
      sum + rows[category] * dim * dtypeBytes(storage),
    0,
  );
  return {
    bytes: batch * (read + kept * plan.width * dtypeBytes(plan.dtype)),
    flops: batch * kept * reduced * plan.operations,
  };
}
