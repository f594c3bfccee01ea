import type { EmittedKernel, LaunchableKernel, Scalars } from './emitted-kernel.js';
import { pointer, type KernelParam } from './kernel-param.js';

/** A launch of a program. */
export interface ProgramStep<K extends LaunchableKernel = EmittedKernel> {
  readonly kernel: K;
  /** Scalars of this launch beside those of all. */
  readonly scalars?: Scalars;
}

/** The kernels of one plan, launched in order on one stream; among them built-in functions where `K` says so. */
export interface KernelProgram<K extends LaunchableKernel = EmittedKernel> {
  readonly steps: readonly ProgramStep<K>[];
  /** Bytes of the scratch buffer bound to the parameter `workspace`; 0 if no step has one. */
  workspaceBytes(scalars: Scalars): number;
}

/** A program of kernels that need no scratch buffer. */
export const programOf = <K extends LaunchableKernel>(
  ...kernels: readonly K[]
): KernelProgram<K> => ({
  steps: kernels.map((kernel) => ({ kernel })),
  workspaceBytes: () => 0,
});

/** The parameters of a kernel with the pointer `workspace` behind them. */
export function withWorkspace(
  params: readonly KernelParam[],
  access: 'read' | 'write',
): KernelParam[] {
  return [...params, pointer('workspace', 'byte', access)];
}
