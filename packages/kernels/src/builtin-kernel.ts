import type { BuiltinKernel, Scalars } from './emitted-kernel.js';
import type { KernelParam } from './kernel-param.js';

/** A whole number that a launch passes. */
export const int64 = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });

/** A built-in function whose struct ends with numbers that are the same in every launch. */
export function withConstants(
  kernel: Omit<BuiltinKernel, 'dialect' | 'constants'>,
  constants: Scalars,
): BuiltinKernel {
  return {
    dialect: 'builtin',
    ...kernel,
    params: [...kernel.params, ...Object.keys(constants).map(int64)],
    constants,
  };
}
