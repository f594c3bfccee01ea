import { withConstants, type BuiltinKernel } from '../emitted-kernel.js';
import { pointer } from '../kernel-param.js';
import {
  countRowsCost,
  countRowsParams,
  gatherRowsCost,
  gatherRowsParams,
  scatterAddCost,
  scatterAddParams,
} from './scatter-params.js';
import { elementNumber } from '../elementwise/element-type.js';
import type { CountRowsPlan, GatherRowsPlan, ScatterAddPlan } from './scatter-plan-types.js';

/** Entries of one task of a gather. */
const TASK_ENTRIES = 256;
/** Elements that make a chunk of tasks worth fetching. */
const CHUNK_ELEMENTS = 1 << 16;

/** The kernel of a sum by index on a CPU: each row in the order of the entries, in double precision. */
export function cpuScatterKernel(plan: ScatterAddPlan): BuiltinKernel {
  const isDirect = plan.mode === 'direct';
  const kernel = withConstants(
    {
      name: plan.summary,
      entry: isDirect ? 'scatter_add' : 'scatter_add_sorted',
      params: scatterAddParams(plan),
      tasks: ({ rows = 0, columns = 0, rowsPerTask = 1, columnsPerTask = 1 }) =>
        Math.ceil(rows / rowsPerTask) * Math.ceil(columns / Math.max(1, columnsPerTask)),
      scratchBytes: ({ rowsPerTask = 1, columnsPerTask = 1 }) =>
        isDirect ? rowsPerTask * columnsPerTask * 8 : 0,
      cost: (scalars) => scatterAddCost(plan, scalars),
    },
    {
      from64: +(plan.from === 'float64'),
      to64: +(plan.to === 'float64'),
      index64: +(plan.index === 'int64'),
    },
  );
  if (isDirect) return kernel;
  return { ...kernel, params: [...kernel.params, pointer('workspace', 'byte', 'write')] };
}

/** The kernel that counts the entries of each row on a CPU; tasks own rows. */
export function cpuCountRowsKernel(plan: CountRowsPlan): BuiltinKernel {
  return withConstants(
    {
      name: plan.summary,
      entry: 'count_rows',
      params: countRowsParams(plan),
      tasks: ({ rows = 0, rowsPerTask = 1 }) => Math.ceil(rows / rowsPerTask),
      cost: (scalars) => countRowsCost(plan, scalars),
    },
    { index64: +(plan.index === 'int64'), to64: +(plan.to === 'int64') },
  );
}

/** The kernel that takes rows by index on a CPU. */
export function cpuGatherRowsKernel(plan: GatherRowsPlan): BuiltinKernel {
  return withConstants(
    {
      name: plan.summary,
      entry: 'gather_rows',
      params: gatherRowsParams(plan),
      tasks: ({ count = 0, columns = 0 }) => (columns === 0 ? 0 : Math.ceil(count / TASK_ENTRIES)),
      chunk: ({ columns = 0 }) =>
        Math.max(1, Math.floor(CHUNK_ELEMENTS / (TASK_ENTRIES * Math.max(columns, 1)))),
      cost: (scalars) => gatherRowsCost(plan, scalars),
    },
    { type: elementNumber(plan.dtype), index64: +(plan.index === 'int64') },
  );
}
