import { checkDescriptor } from './check-descriptor.js';
import type { DescriptorOf, KernelDescriptor } from './descriptor-types.js';

/**
 * A kernel descriptor from its parts.
 *
 * @throws MercerError INVALID_ARGUMENT for unknown parts and for combinations that mean nothing
 *
 * @example
 * ```ts
 * import { kernelDescriptor, runKernel } from '@mercer/pairwise';
 *
 * const laplace = kernelDescriptor({
 *   innerOperator: 'diff',
 *   innerPower: 'abs',
 *   outerPower: 'none',
 *   kernel: 'laplace',
 * });
 * const k = await runKernel(laplace, [[0], [1]], { bandwidth: 2, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 1, 0.6065... ], [ 0.6065..., 1 ] ], exp(-1/2) beside the diagonal
 * ```
 */
export function kernelDescriptor<const F extends KernelDescriptor>(fields: F): DescriptorOf<F> {
  checkDescriptor(fields, 'kernelDescriptor');
  const { innerOperator, innerPower, outerPower, kernel } = fields;
  const made: unknown = Object.freeze({ innerOperator, innerPower, outerPower, kernel });
  return made as DescriptorOf<F>;
}
