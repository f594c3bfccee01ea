/**
 * What a benchmark needs beside the operations: the kernels that measure a device's limits.
 *
 * @packageDocumentation
 */
export { cpuLimitKernels, cudaLimitKernels } from '@mercer/kernels';
export type { EmittedKernel, KernelCost, Scalars } from '@mercer/kernels';
