import type { EmittedKernel } from './emitted-kernel.js';

/** What a compiler is given of a kernel, as one text: kernels with the same key have the same binary on a device. */
export function kernelKey({ entry, options, source }: EmittedKernel): string {
  return `${entry}\n${JSON.stringify(options)}\n${source}`;
}
