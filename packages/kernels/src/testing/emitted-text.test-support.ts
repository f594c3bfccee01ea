import type { CpuLimits } from '../device-limits.js';
import { isEmitted, type LaunchableKernel, type KernelProgram } from '../emitted-kernel.js';

/** A usual CPU. */
export const CPU: CpuLimits = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 8,
  l1Bytes: 32_768,
  l2Bytes: 1_048_576,
};

/** What of a text is shown: all of it, what follows the helpers of the dialect, or the kernel alone. */
const BEGINNINGS = { whole: /^/, arguments: /struct Args/, kernel: /extern "C"/ } as const;

/** The text of a kernel of a program, by default of the first, from its beginning on. */
export function emittedText(
  emitted: KernelProgram<LaunchableKernel> | LaunchableKernel,
  beginning: keyof typeof BEGINNINGS = 'whole',
  step = 0,
): string {
  const kernel = 'steps' in emitted ? emitted.steps[step]?.kernel : emitted;
  const source = kernel !== undefined && isEmitted(kernel) ? kernel.source : '';
  return source.slice(source.search(BEGINNINGS[beginning]));
}

/** The texts of a program's kernels; built-in functions have none. */
export const textsOf = ({ steps }: KernelProgram<LaunchableKernel>): string[] =>
  steps.flatMap(({ kernel }) => (isEmitted(kernel) ? [kernel.source] : []));
