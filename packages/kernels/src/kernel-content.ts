import type { EmittedKernel } from './emitted-kernel.js';

/**
 * What a compiler is given of a kernel: kernels with the same content have the same binary on a device. Of a kernel that is a
 * program alone, the program.
 */
export function kernelContent(kernel: EmittedKernel): readonly (string | Uint8Array)[] {
  const { entry, options, source } = kernel;
  const text = `${entry}\n${JSON.stringify(options)}\n${source}`;
  if (source !== '' || kernel.dialect !== 'cpu' || kernel.program === undefined) return [text];
  const { words, constants } = kernel.program;
  const head = `${text}${words.length} ${constants.length}\n`;
  return [head, ...[words, constants].map(({ buffer }) => new Uint8Array(buffer))];
}
