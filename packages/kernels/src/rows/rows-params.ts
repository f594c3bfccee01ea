import { dtypeBytes } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import type { RowsPlan } from './rows-plan.js';

/**
 * The parameters of a row preparation, sizes in elements: `ldx` is the stride of the axis of x that is
 * not contiguous, `ldo` that of the rows of out. With a scale: `scaleAt` (address 0: not in memory),
 * `scaleBatchStride`, `scaleStride` along k (0 or 1), and `scaleValue`, which counts where the address
 * is 0. With norms, last: the pointer `norms`.
 */
export function rowsParams({ dtype, scale, norms }: RowsPlan): KernelParam[] {
  return [
    pointer('x', dtype, 'read'),
    pointer('out', dtype, 'write'),
    ...['m', 'k', 'batch', 'ldx', 'ldo', 'batchStrideX', 'batchStrideOut'].map(int64),
    ...(scale ? scaleParams(dtype) : []),
    ...(norms ? [pointer('norms', dtype, 'write')] : []),
  ];
}

const scaleParams = (dtype: PairwiseDType): KernelParam[] => [
  pointer('scaleAt', dtype, 'read'),
  ...['scaleBatchStride', 'scaleStride'].map(int64),
  float64('scaleValue'),
];

/** What a launch must do at least: x read once, y written once. */
export function rowsCost(plan: RowsPlan, { m = 0, k = 0, batch = 0 }: Scalars): KernelCost {
  const elements = m * k * batch;
  const perElement = (plan.scale ? 1 : 0) + (plan.normalise ? 3 : plan.norms ? 2 : 0);
  const norms = plan.norms ? m * batch : 0;
  return {
    bytes: (2 * elements + norms) * dtypeBytes(plan.dtype),
    flops: elements * perElement,
  };
}
