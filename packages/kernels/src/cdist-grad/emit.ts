import { dtypeBytes } from '../dtype.js';
import { programOf, type KernelProgram } from '../emitted-kernel.js';
import { emitCpuCdistGrad } from './cpu/emit.js';
import { fmaKernel } from './cuda/fma-kernel.js';
import { mmaKernel } from './cuda/mma-kernel.js';
import { splitKernel } from './cuda/split-kernel.js';
import type { CdistGradPlan } from './plan-types.js';
import { sizesOf } from './program.js';

/** The kernels of a plan, as text. The same plan always gives the same text. */
export function emitCdistGrad(plan: CdistGradPlan): KernelProgram {
  if (plan.kind === 'cpu') return emitCpuCdistGrad(plan);
  const kernel = plan.strategy === 'fma' ? fmaKernel(plan) : mmaKernel(plan);
  if (plan.splitK === 1) return programOf(kernel);
  return {
    ...programOf(kernel, splitKernel(plan)),
    workspaceBytes: (scalars) => {
      const { m, n, o, batch } = sizesOf(scalars);
      return plan.splitK * batch * o * n * m * dtypeBytes(plan.dtype);
    },
  };
}
