import { dtypeBytes } from '../dtype.js';
import {
  type LaunchableKernel,
  type Scalars,
  programOf,
  type KernelProgram,
} from '../emitted-kernel.js';
import { emitCpuPairwise } from './cpu/emit.js';
import { diagonalKernel } from './cuda/diagonal-kernel.js';
import { dotKernel } from './cuda/dot-kernel.js';
import { outerKernel } from './cuda/outer-kernel.js';
import { productsKernel } from './cuda/products-kernel.js';
import { splitReduceKernel } from './cuda/split-reduce-kernel.js';
import { tileKernel } from './cuda/tile-kernel.js';
import type { CudaPairwisePlan, PairwisePlan, TilePlan } from './plan-types.js';

/**
 * The kernels of a plan, as text. The same plan always gives the same text.
 */
export function emitPairwise(plan: PairwisePlan): KernelProgram<LaunchableKernel> {
  return plan.kind === 'cuda' ? emitCudaPairwise(plan) : emitCpuPairwise(plan);
}

function emitCudaPairwise(plan: CudaPairwisePlan): KernelProgram {
  const program = emitOutputs(plan);
  if (plan.diagonal === undefined) return program;
  return { ...program, steps: [...program.steps, { kernel: diagonalKernel(plan) }] };
}

/** The kernels that write the output. */
function emitOutputs(plan: CudaPairwisePlan): KernelProgram {
  switch (plan.strategy) {
    case 'dot':
      return programOf(dotKernel(plan));
    case 'outer':
      return programOf(outerKernel(plan));
    case 'products':
      return programOf(productsKernel(plan));
    case 'tile':
      if (plan.splitK === 1) return programOf(tileKernel(plan));
      return {
        ...programOf(tileKernel(plan), splitReduceKernel(plan)),
        workspaceBytes: (scalars) => partialBytes(plan, scalars),
      };
  }
}

/** One value per part and output. */
function partialBytes(plan: TilePlan, scalars: Scalars): number {
  const { m = 0, n = 0, batch = 0 } = scalars;
  return plan.splitK * batch * m * n * dtypeBytes(plan.dtype);
}
