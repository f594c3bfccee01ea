import type { PairwiseProgram } from '../../pairwise/program.js';
import type { CudaWidePlan } from './wide-plan.js';

export function emitCudaWide(plan: CudaWidePlan): PairwiseProgram {
  throw new RangeError(plan.summary);
}
