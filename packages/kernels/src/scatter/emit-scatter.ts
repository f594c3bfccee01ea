import type { PairwiseProgram } from '../pairwise/program.js';
import { cpuCountRowsKernel, cpuGatherRowsKernel } from './cpu-rows-by-index.js';
import { cpuScatterKernel } from './cpu-scatter.js';
import type { CountRowsPlan, GatherRowsPlan, ScatterAddPlan } from './scatter-plan.js';

/** The kernels of a sum by index. The same plan always gives the same text. */
export function emitScatterAdd(plan: ScatterAddPlan): PairwiseProgram {
  return {
    steps: [{ kernel: cpuScatterKernel(plan) }],
    workspaceBytes: ({ count = 0, rows = 0 }) => (plan.mode === 'sorted' ? 4 * (count + rows) : 0),
  };
}

/** The kernel of a count. */
export function emitCountRows(plan: CountRowsPlan): PairwiseProgram {
  return { steps: [{ kernel: cpuCountRowsKernel(plan) }], workspaceBytes: () => 0 };
}

/** The kernel of a gather. */
export function emitGatherRows(plan: GatherRowsPlan): PairwiseProgram {
  return { steps: [{ kernel: cpuGatherRowsKernel(plan) }], workspaceBytes: () => 0 };
}
