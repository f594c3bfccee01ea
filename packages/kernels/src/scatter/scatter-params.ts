import { dtypeBytes } from '../dtype.js';
import { SHORT_INTEGERS, type ListSpelling } from '../emit/parameter-text.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import type { CountRowsPlan, GatherRowsPlan, ScatterAddPlan } from './scatter-plan-types.js';

/**
 * The parameters of a sum by index in one step: `values` with rows `valueStride` elements apart, `index`, `out`, packed. Tasks of a CPU own
 * `rowsPerTask` rows and `columnsPerTask` columns (see `scatterAddScalars`).
 */
export function scatterAddParams({ kind, from, to, index, mode }: ScatterAddPlan): KernelParam[] {
  return [
    pointer('values', from, 'read'),
    pointer('index', index, 'read'),
    pointer('out', to, mode === 'atomic' ? 'readwrite' : 'write'),
    ...['count', 'rows', 'columns', 'valueStride'].map(int64),
    ...(kind === 'cuda' ? [] : ['rowsPerTask', 'columnsPerTask']).map(int64),
  ];
}

/** The parameters of a count: `index` and `out`; on a CPU a task owns `rowsPerTask` rows. */
export function countRowsParams({ index, to, kind, needsZeros }: CountRowsPlan): KernelParam[] {
  return [
    pointer('index', index, 'read'),
    pointer('out', to, needsZeros ? 'readwrite' : 'write'),
    ...['count', 'rows', ...(kind === 'cuda' ? [] : ['rowsPerTask'])].map(int64),
  ];
}

/** The parameters of a gather: `x` with rows `tableStride` elements apart, `index`, `out`. */
export function gatherRowsParams({ dtype, index }: GatherRowsPlan): KernelParam[] {
  return [
    pointer('x', dtype, 'read'),
    pointer('index', index, 'read'),
    pointer('out', dtype, 'write'),
    ...['count', 'rows', 'columns', 'tableStride'].map(int64),
  ];
}

/** How texts for a GPU spell them: what is added to by atomic operations, and the workspace, may be read by others. */
export const scatterSpelling = (
  elements: Readonly<Record<string, string>> = {},
  shared: readonly string[] = [],
): ListSpelling => ({
  integers: SHORT_INTEGERS,
  elements: { ...elements, workspace: 'u32' },
  restricts: (name) => name !== 'workspace' && !shared.includes(name),
});

/** What a sum by index must do at least: values and index read once, the result written once. */
export function scatterAddCost(
  { from, to, index }: ScatterAddPlan,
  { count = 0, rows = 0, columns = 0 }: Scalars,
): KernelCost {
  const read = count * (columns * dtypeBytes(from) + dtypeBytes(index));
  return { bytes: read + rows * columns * dtypeBytes(to), flops: count * columns };
}

/** What a count must do at least. */
export function countRowsCost(
  { index, to }: CountRowsPlan,
  { count = 0, rows = 0 }: Scalars,
): KernelCost {
  return { bytes: count * dtypeBytes(index) + rows * dtypeBytes(to), flops: count };
}

/** What a gather must do at least: each row of the result read and written once. */
export function gatherRowsCost(
  { dtype, index }: GatherRowsPlan,
  { count = 0, columns = 0 }: Scalars,
): KernelCost {
  return { bytes: count * (2 * columns * dtypeBytes(dtype) + dtypeBytes(index)), flops: 0 };
}
