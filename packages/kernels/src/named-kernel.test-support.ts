import {
  isEmitted,
  type EmittedKernel,
  type LaunchableKernel,
  type KernelProgram,
} from './emitted-kernel.js';

/** A kernel with the name that reports know it by. */
export interface NamedKernel {
  readonly name: string;
  readonly kernel: EmittedKernel;
}

/** The kernels of programs that have a text, each text once. */
export function distinctKernels(
  programs: Iterable<Pick<KernelProgram<LaunchableKernel>, 'steps'>>,
): NamedKernel[] {
  const bySource = new Map<string, NamedKernel>();
  for (const { steps } of programs) {
    for (const { kernel } of steps) {
      if (isEmitted(kernel)) bySource.set(kernel.source, { name: kernel.name, kernel });
    }
  }
  return [...bySource.values()];
}
