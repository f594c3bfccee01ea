// The SHA-256 of the source of every default kernel for one device.
import { createHash } from 'node:crypto';
import { defaultKernels } from '../../packages/kernels/test/default-kernels.mjs';

/**
 * @param {import('../../packages/kernels/dist/index.js').CudaLimits} limits what the emitters know of the device
 * @returns {Promise<{ name: string, arch: string, sha256: string }[]>} sorted by name
 */
export async function defaultKernelHashes(limits) {
  /** @type {{ name: string, kernel: { source: string } }[]} */
  const kernels = defaultKernels(limits);
  return kernels
    .map(({ name, kernel }) => ({
      name,
      arch: limits.arch,
      sha256: createHash('sha256').update(kernel.source).digest('hex'),
    }))
    .sort((one, other) => one.name.localeCompare(other.name));
}
