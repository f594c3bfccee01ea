import { type LaunchableKernel, programOf, type KernelProgram } from '../emitted-kernel.js';
import { cpuCountRowsKernel, cpuGatherRowsKernel, cpuScatterKernel } from './cpu-scatter.js';
import { cudaAtomicKernel, cudaCountRowsKernel } from './cuda-atomic.js';
import { cudaDirectCountKernel, cudaDirectKernel } from './cuda-direct.js';
import { cudaGatherRowsKernel } from './cuda-gather.js';
import { cudaMergeKernel, cudaRunsKernel, runsWorkspaceBytes } from './cuda-runs.js';
import { cudaSortKernels } from './cuda-sort.js';
import type { CountRowsPlan, GatherRowsPlan, ScatterAddPlan } from './scatter-plan-types.js';

/**
 * The kernels of a sum by index. Where the plan needs zeros, `out` must hold them. The same plan always gives the same text.
 */
export function emitScatterAdd(plan: ScatterAddPlan): KernelProgram<LaunchableKernel> {
  if (plan.kind === 'cuda') {
    if (plan.mode === 'sorted') return sortedProgram(plan);
    return programOf<LaunchableKernel>(
      plan.mode === 'atomic' ? cudaAtomicKernel(plan) : cudaDirectKernel(plan),
    );
  }
  return {
    steps: [{ kernel: cpuScatterKernel(plan) }],
    workspaceBytes: ({ count = 0, rows = 0 }) => (plan.mode === 'sorted' ? 4 * (count + rows) : 0),
  };
}

function sortedProgram(plan: ScatterAddPlan): KernelProgram<LaunchableKernel> {
  const { bits } = plan;
  const [digits, scan, place] = cudaSortKernels(plan.index);
  const passes = Array.from({ length: plan.passes }, (_, pass) => [
    { kernel: digits, scalars: { pass, bits } },
    { kernel: scan },
    { kernel: place, scalars: { pass, bits } },
  ]);
  // the side that the last pass wrote to
  const scalars = { sorted: (plan.passes - 1) % 2 };
  return {
    steps: [
      ...passes.flat(),
      { kernel: cudaRunsKernel(plan), scalars },
      { kernel: cudaMergeKernel(plan.to), scalars },
    ],
    workspaceBytes: runsWorkspaceBytes,
  };
}

/** The kernel of a count. Where the plan needs zeros, `out` must hold them. */
export function emitCountRows(plan: CountRowsPlan): KernelProgram<LaunchableKernel> {
  if (plan.kind === 'cpu') return programOf<LaunchableKernel>(cpuCountRowsKernel(plan));
  return programOf<LaunchableKernel>(
    plan.mode === 'atomic' ? cudaCountRowsKernel(plan) : cudaDirectCountKernel(plan),
  );
}

/** The kernel of a gather. */
export function emitGatherRows(plan: GatherRowsPlan): KernelProgram<LaunchableKernel> {
  return programOf<LaunchableKernel>(
    plan.kind === 'cuda' ? cudaGatherRowsKernel(plan) : cpuGatherRowsKernel(plan),
  );
}
