import type { BuiltinKernel, CudaKernel, LaunchableKernel } from '../emitted-kernel.js';
import type { Dialect } from './conversion-text.js';
import { cpuCopyKernel } from './cpu-copy.js';
import { emitCudaCopy } from './cuda-copy.js';
import type { CopyPlan } from './copy-plan.js';

/**
 * A copy or cast, for any pair of element types and any rank up to 8: CUDA C++, or a built-in function of the CPU's runtime.
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
export function emitCopy(plan: CopyPlan, dialect: 'cuda'): CudaKernel;
export function emitCopy(plan: CopyPlan, dialect: 'cpu'): BuiltinKernel;
export function emitCopy(plan: CopyPlan, dialect: Dialect): LaunchableKernel;
export function emitCopy(plan: CopyPlan, dialect: Dialect): LaunchableKernel {
  return dialect === 'cuda' ? emitCudaCopy(plan) : cpuCopyKernel(plan);
}
