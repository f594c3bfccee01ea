import type { EmittedKernel } from './emitted-kernel.js';
import type { KernelProgram } from './kernel-program.js';

/** A kernel with the name that reports know it by. */
export interface NamedKernel {
  readonly name: string;
  readonly kernel: EmittedKernel;
}

/** The kernels of programs, each text once. */
export function distinctKernels(programs: Iterable<Pick<KernelProgram, 'steps'>>): NamedKernel[] {
  const bySource = new Map<string, NamedKernel>();
  for (const { steps } of programs) {
    for (const { kernel } of steps) bySource.set(kernel.source, { name: kernel.name, kernel });
  }
  return [...bySource.values()];
}
