import { dtypeBytes } from '../../dtype.js';
import { withConstants, type BuiltinKernel } from '../../emitted-kernel.js';
import type { CpuPairwisePlan } from './plan.js';
import { diagonalLength, diagonalParams } from '../params.js';

/** Elements of one task. */
const TASK_ELEMENTS = 4096;

/** What the step depends on. */
type DiagonalPlan = Pick<CpuPairwisePlan, 'dtype' | 'layoutOut' | 'diagonal'>;

/** The last step of a plan that regularises a diagonal of the output. */
export function cpuDiagonalKernel(plan: DiagonalPlan): BuiltinKernel {
  const total = (scalars: Readonly<Record<string, number>>): number =>
    (scalars['batch'] ?? 0) * diagonalLength(scalars);
  return withConstants(
    {
      name: `pairwise ${plan.dtype} diagonal ${plan.diagonal ?? ''}`,
      entry: 'diagonal',
      params: diagonalParams(plan.dtype),
      tasks: (scalars) => Math.ceil(total(scalars) / TASK_ELEMENTS),
      cost: (scalars) => ({
        bytes: total(scalars) * dtypeBytes(plan.dtype) * (plan.diagonal === 'set' ? 1 : 2),
        flops: total(scalars),
      }),
    },
    {
      wide: +(plan.dtype === 'float64'),
      columns: +(plan.layoutOut === 'column'),
      add: +(plan.diagonal !== 'set'),
    },
  );
}
