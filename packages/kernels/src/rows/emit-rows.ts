import { type LaunchableKernel, programOf, type KernelProgram } from '../emitted-kernel.js';
import { cpuRowsKernel } from './cpu-rows.js';
import { cudaRowsKernel } from './cuda-rows.js';
import type { RowsPlan } from './plan-rows.js';

/** The kernel of a row preparation: one step, no workspace. The same plan always gives the same kernel. */
export function emitRows(plan: RowsPlan): KernelProgram<LaunchableKernel> {
  return programOf(plan.kind === 'cuda' ? cudaRowsKernel(plan) : cpuRowsKernel(plan));
}
