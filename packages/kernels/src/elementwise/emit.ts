import type {
  BuiltinKernel,
  CudaKernel,
  LaunchableKernel,
  EmittedKernel,
} from '../emitted-kernel.js';
import type { Dialect } from './conversion-text.js';
import { cpuCopyKernel } from './cpu-copy.js';
import { emitCudaCopy } from './cuda-copy.js';
import type { ElementsPlan } from './plan-copy.js';
import { emitCpuMap } from './cpu-map.js';
import { emitCudaMap } from './cuda-map.js';
import type { MapPlan } from './map-plan-types.js';

/**
 * A copy or cast, for any pair of element types, or a fill, of any rank up to 8: CUDA C++, or a built-in function of the CPU's runtime. A fill takes
 * the scalars `lo` and `hi`, the low and high 32 bits of one element, so every dtype and every NaN is written exactly.
 *
 * @example
 * ```ts
 * import { emitCopy, planCopy } from '@mercer/kernels';
 *
 * const { plan, scalars } = planCopy({
 *   from: 'float32',
 *   to: 'float16',
 *   shape: [3, 4],
 *   srcStrides: [4, 1],
 *   dstStrides: [4, 1],
 * });
 * const kernel = emitCopy(plan, 'cuda');
 * console.log(kernel.entry, scalars); // mercer_cast_f32_f16_linear { count: 12 }
 * ```
 */
export function emitCopy(plan: ElementsPlan, dialect: 'cuda'): CudaKernel;
export function emitCopy(plan: ElementsPlan, dialect: 'cpu'): BuiltinKernel;
export function emitCopy(plan: ElementsPlan, dialect: Dialect): LaunchableKernel;
export function emitCopy(plan: ElementsPlan, dialect: Dialect): LaunchableKernel {
  return dialect === 'cuda' ? emitCudaCopy(plan) : cpuCopyKernel(plan);
}

/**
 * A map in the dialect of the plan's target. Pointers: the plan's inputs in order, then the output; the numbers of the
 * launch are scalars, so another value needs no other kernel.
 *
 * @throws RangeError for a variable that is neither an input nor a parameter nor an index
 */
export function emitMap(plan: MapPlan): EmittedKernel {
  return plan.target.kind === 'cuda' ? emitCudaMap(plan) : emitCpuMap(plan, plan.target.level);
}
