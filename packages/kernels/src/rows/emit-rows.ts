import type { LaunchableKernel } from '../emitted-kernel.js';
import type { KernelProgram } from '../kernel-program.js';
import { cpuRowsKernel } from './cpu-rows.js';
import { cudaRowsKernel } from './cuda-rows.js';
import type { RowsPlan } from './rows-plan.js';

/** The kernel of a row preparation: one step, no workspace. The same plan always gives the same kernel. */
export function emitRows(plan: RowsPlan): KernelProgram<LaunchableKernel> {
  const kernel = plan.kind === 'cuda' ? cudaRowsKernel(plan) : cpuRowsKernel(plan);
  return { steps: [{ kernel }], workspaceBytes: () => 0 };
}
