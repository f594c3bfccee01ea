import { finish, type Steps } from '@mercer/formula/plan';
import type { KernelProgram } from '../emitted-kernel.js';
import { emitCpuBins } from './bins/cpu-bins.js';
import { emitCudaBins } from './bins/cuda-bins.js';
import { emitCpuMapReduce } from './cpu/kernel.js';
import { emitCudaMapReduce } from './cuda/kernel.js';
import type { MapReducePlan } from './plan-types.js';
import { emitCpuPairTile } from './loops/cpu/kernel.js';
import { emitCudaPairTile } from './loops/cuda/kernel.js';

/** The kernels of a map-reduce. The same plan always gives the same text. */
export function emitMapReduce(plan: MapReducePlan): KernelProgram {
  return finish(emitMapReduceSteps(plan));
}

/** {@link emitMapReduce} in steps. */
export function* emitMapReduceSteps(plan: MapReducePlan): Steps<KernelProgram> {
  if ('form' in plan) {
    return yield* plan.kind === 'cuda' ? emitCudaPairTile(plan) : emitCpuPairTile(plan);
  }
  if (plan.bins !== undefined) {
    return plan.kind === 'cuda' ? emitCudaBins(plan) : yield* emitCpuBins(plan);
  }
  return plan.kind === 'cuda' ? emitCudaMapReduce(plan) : yield* emitCpuMapReduce(plan);
}
