import type { KernelProgram } from '../kernel-program.js';
import { emitCpuGradient } from './cpu/emit.js';
import { emitCudaGradient } from './cuda/emit.js';
import type { PairwiseGradientPlan } from './gradient-plan.js';

/**
 * The kernel of a gradient plan, as text: one step, without a workspace; see `gradientParams` for its
 * parameters. The same plan always gives the same text.
 */
export function emitPairwiseGradient(plan: PairwiseGradientPlan): KernelProgram {
  const kernel = plan.kind === 'cpu' ? emitCpuGradient(plan) : emitCudaGradient(plan);
  return { steps: [{ kernel }], workspaceBytes: () => 0 };
}
