import type { EmittedKernel } from '../emitted-kernel.js';
import { emitCpuMap } from './cpu-map.js';
import { emitCudaMap } from './cuda-map.js';
import type { MapPlan } from './map-plan-types.js';

/**
 * A map in the dialect of the plan's target. Pointers: the plan's inputs in order, then the output; the numbers of the
 * launch are scalars, so another value needs no other kernel.
 *
 * @throws RangeError for a variable that is neither an input nor a parameter nor an index
 */
export function emitMap(plan: MapPlan): EmittedKernel {
  return plan.target.kind === 'cuda' ? emitCudaMap(plan) : emitCpuMap(plan, plan.target.level);
}
