import type { EmittedKernel } from './emitted-kernel.js';

/**
 * What a compiler is given of a kernel, as one text: kernels with the same key have the same binary on a device. Of a kernel
 * that is a program alone, the program.
 */
export function kernelKey(kernel: EmittedKernel): string {
  const { entry, options, source } = kernel;
  const program = source === '' && kernel.dialect === 'cpu' ? JSON.stringify(kernel.program) : '';
  return `${entry}\n${JSON.stringify(options)}\n${source}${program}`;
}
