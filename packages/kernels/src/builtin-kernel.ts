import { own } from '@mercer/options';
import type { BuiltinKernel, CpuGeometry, Scalars } from './emitted-kernel.js';
import { int64 } from './kernel-param.js';

/** A built-in function as its launches are cut: where nothing is said, a chunk is one task, and tasks need no scratch memory. */
interface BuiltinParts extends Pick<BuiltinKernel, 'name' | 'entry' | 'params' | 'cost'> {
  readonly tasks: (scalars: Scalars) => number;
  readonly chunk?: (scalars: Scalars) => number;
  readonly scratchBytes?: (scalars: Scalars) => number;
}

/** A built-in function whose struct ends with numbers that are the same in every launch. */
export function withConstants(parts: BuiltinParts, constants: Scalars): BuiltinKernel {
  const { name, entry, params, cost, tasks, chunk, scratchBytes } = own(
    parts,
    ...(['name', 'entry', 'params', 'cost', 'tasks', 'chunk', 'scratchBytes'] as const),
  );
  return {
    dialect: 'builtin',
    name,
    entry,
    params: [...params, ...Object.keys(constants).map(int64)],
    ...(cost && { cost }),
    constants,
    geometry: (scalars): CpuGeometry => ({
      tasks: tasks(scalars),
      chunk: chunk?.(scalars) ?? 1,
      scratchBytes: scratchBytes?.(scalars) ?? 0,
    }),
  };
}
