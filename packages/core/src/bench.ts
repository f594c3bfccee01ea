/**
 * What a benchmark needs beside the operations: the kernels that measure a device's limits, and which norms have a kernel of
 * their own.
 *
 * @packageDocumentation
 */
export {
  cpuGaussianSum,
  cpuLimitKernels,
  cudaLimitKernels,
  isSpecialisedNorm,
} from '@mercer/kernels';
export type { EmittedKernel, KernelCost, Scalars } from '@mercer/kernels';
