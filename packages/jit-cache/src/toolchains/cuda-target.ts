import { CacheError } from '../errors.js';

/**
 * The target for a GPU: its own architecture with the suffix (a cubin, which runs as it is) where
 * NVRTC knows it, else the highest plain architecture that NVRTC knows and the GPU can run (PTX,
 * which the driver finishes).
 *
 * @param arch the device's architecture, such as `sm_90a`
 * @param supported what NVRTC knows, such as `[75, 80, 90]`
 * @throws CacheError TARGET_UNSUPPORTED for a GPU older than all of them
 *
 * @example
 * ```ts
 * import { cudaTarget } from '@mercer/jit-cache';
 * if (cudaTarget('sm_90a', [80, 90]) !== 'sm_90a') throw new Error('a cubin was possible');
 * if (cudaTarget('sm_120', [80, 90]) !== 'compute_90') throw new Error('PTX was needed');
 * ```
 */
export function cudaTarget(arch: string, supported: readonly number[]): string {
  const number = Number(/^sm_(\d+)[af]?$/.exec(arch)?.[1]);
  if (supported.includes(number)) return arch;
  const older = supported.filter((candidate) => candidate < number);
  if (older.length > 0) return `compute_${Math.max(...older)}`;
  throw new CacheError(
    'TARGET_UNSUPPORTED',
    `Cannot compile for ${arch}: this NVRTC knows ${supported.join(', ')} only. Install an NVRTC of a CUDA release that supports the GPU.`,
  );
}
