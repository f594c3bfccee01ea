import { dtypeBytes } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import type { MapReducePlan, UnrolledPlan } from './plan.js';
import type { Reducer } from './reducers/reducer.js';

/** The name of the pointer to input number `position`. */
export const inputName = (position: number): string => `x${String(position)}`;
export const strideName = (position: number): string => `ld${String(position)}`;
export const batchStrideName = (position: number): string => `batchStride${String(position)}`;

/**
 * The parameters of a map-reduce: a pointer `x<position>` for every input, `out` and `index` where the
 * reduction has values and row numbers (dense, as (batch, rows, components)), `rowsI`, `rowsJ`, `batch`,
 * and for every input `ld<position>`, elements from one row to the next, and `batchStride<position>`,
 * where 0 broadcasts. The components of a row lie side by side; a parameter has one row.
 */
export function mapReduceParams(
  { dtype, inputs }: Pick<MapReducePlan, 'dtype' | 'inputs'>,
  reducer: Reducer,
): KernelParam[] {
  const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });
  const all: KernelParam[] = inputs.map(({ position }) => ({
    ...({ name: inputName(position), kind: 'pointer', access: 'read' } as const),
    dtype,
  }));
  if (reducer.value.length > 0) all.push({ name: 'out', kind: 'pointer', dtype, access: 'write' });
  if (reducer.index.length > 0) {
    all.push({ name: 'index', kind: 'pointer', dtype: 'int32', access: 'write' });
  }
  return [
    ...all,
    ...['rowsI', 'rowsJ', 'batch'].map(size),
    ...inputs.flatMap(({ position }) => [
      size(strideName(position)),
      size(batchStrideName(position)),
    ]),
  ];
}

/** Kept rows and reduced rows of a launch. */
export function rowsOf(
  { axis }: MapReducePlan,
  { rowsI = 0, rowsJ = 0 }: Scalars,
): { readonly kept: number; readonly reduced: number } {
  return axis === 1 ? { kept: rowsI, reduced: rowsJ } : { kept: rowsJ, reduced: rowsI };
}

/** What a launch must do at least: each input read once, an operation for every node at every pair. */
export function mapReduceCost(plan: UnrolledPlan, reducer: Reducer, scalars: Scalars): KernelCost {
  const { batch = 0, rowsI = 0, rowsJ = 0 } = scalars;
  const { kept, reduced } = rowsOf(plan, scalars);
  const rows = { i: rowsI, j: rowsJ, parameter: 1 };
  const read = plan.inputs.reduce((sum, { category, dim }) => sum + rows[category] * dim, 0);
  const values = (read + kept * reducer.value.length) * dtypeBytes(plan.dtype);
  const operations = plan.values.nodes.filter((node) => 'op' in node).length + reducer.arity;
  return {
    bytes: batch * (values + kept * reducer.index.length * dtypeBytes('int32')),
    flops: batch * kept * reduced * operations,
  };
}
