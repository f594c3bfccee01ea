import type { CudaLimits } from './device-limits.js';
import { defaultElementwisePlans } from './elementwise/default-elementwise.js';
import { emitCopy } from './elementwise/emit-copy.js';
import { emitFill } from './elementwise/emit-fill.js';
import type { EmittedKernel } from './emitted-kernel.js';
import { cudaLimitKernels } from './limits/cuda-limit-kernels.js';
import { defaultPairwiseProblems } from './pairwise/default-problems.js';
import { emitPairwise } from './pairwise/emit.js';
import { planPairwise } from './pairwise/plan.js';

/** A kernel with the name that reports know it by. */
export interface NamedKernel {
  readonly name: string;
  readonly kernel: EmittedKernel;
}

/**
 * Every kernel that the default plans of every family give on a GPU, each text once: what is
 * compiled in tests and what a GPU report must cover.
 */
export function defaultKernels(limits: CudaLimits): NamedKernel[] {
  return [
    ...defaultPairwiseKernels(limits),
    ...defaultElementwiseKernels(),
    ...limitKernels(limits),
  ];
}

/** The pairwise part of {@link defaultKernels}. */
export function defaultPairwiseKernels(limits: CudaLimits): NamedKernel[] {
  const bySource = new Map<string, NamedKernel>();
  for (const problem of defaultPairwiseProblems()) {
    for (const { kernel } of emitPairwise(planPairwise(problem, limits)).steps) {
      bySource.set(kernel.source, { name: kernel.name, kernel });
    }
  }
  return [...bySource.values()];
}

function defaultElementwiseKernels(): NamedKernel[] {
  return defaultElementwisePlans().map((plan) => {
    const kernel = plan.family === 'copy' ? emitCopy(plan, 'cuda') : emitFill(plan, 'cuda');
    return { name: kernel.name, kernel };
  });
}

function limitKernels(limits: CudaLimits): NamedKernel[] {
  return cudaLimitKernels(limits).map(({ kernel }) => ({ name: kernel.name, kernel }));
}
