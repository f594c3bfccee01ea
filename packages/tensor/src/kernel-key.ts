import { createHash } from 'node:crypto';
import { kernelContent, type EmittedKernel } from '@mercer/kernels';

/** A short text that two kernels share exactly when a compiler is given the same of both. */
export function kernelKey(kernel: EmittedKernel): string {
  const hash = createHash('sha256');
  for (const part of kernelContent(kernel)) hash.update(part);
  return hash.digest('base64');
}
