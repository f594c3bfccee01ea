import type { CudaLimits } from '../device-limits.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import type { PairwiseProblem } from '../pairwise/problem.js';

/** The limits of the GPU that the plans were tuned on. */
export const H200: CudaLimits = {
  kind: 'cuda',
  arch: 'sm_90a',
  computeCapability: [9, 0],
  multiprocessors: 132,
  maxThreadsPerBlock: 1024,
  sharedMemPerBlockOptin: 232448,
  sharedMemPerMultiprocessor: 233472,
  registersPerMultiprocessor: 65536,
  l2Bytes: 62914560,
};

/** A large row-major float32 problem with parts replaced. */
export function pairwiseProblem(changes: Partial<PairwiseProblem> = {}): PairwiseProblem {
  return {
    ...normExpressions(1),
    dtype: 'float32',
    m: 30000,
    n: 30000,
    k: 1024,
    batch: 1,
    layoutA: 'row',
    layoutB: 'row',
    layoutOut: 'row',
    alignedA: true,
    alignedB: true,
    alignedOut: true,
    ...changes,
  };
}
