import { postOrder, traitsOf } from '@mercer/formula/plan';
import { dtypeBytes } from '../dtype.js';
import type { CudaGeometry, KernelCost, Scalars } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import type { LaunchedPlan, PlannedReduction } from './launched-plan.js';
import { rowInputs } from './plan-inputs.js';
import type { UnrolledPlan } from './plan-types.js';
import { type Reducer, wordsOf } from './reducers/reducer.js';
import { reducersOf } from './reducers/reducers-of.js';
import { outputNames, type RunningResult } from './reducers/running-result.js';

/** The name of the pointer to input number `position`. */
export const inputName = (position: number): string => `x${position}`;
export const strideName = (position: number): string => `ld${position}`;
export const batchStrideName = (position: number): string => `batchStride${position}`;
/** Elements from the value of a pair (i, j) to that of (i, j + 1). */
export const columnStrideName = (position: number): string => `columnStride${position}`;
export const tableRowsName = (position: number): string => `rows${position}`;
/** What a plan with ranges takes: int64 rows of 4 numbers, and of 2. */
export const RANGE_POINTERS = ['tasks', 'spans'] as const;
export const TASK_COUNT = 'taskCount';

/** The side that has a result for every row, and the one that is reduced. */
export const sidesOf = ({
  axis,
}: Pick<LaunchedPlan, 'axis'>): { readonly kept: 'i' | 'j'; readonly reduced: 'i' | 'j' } =>
  axis === 1 ? { kept: 'i', reduced: 'j' } : { kept: 'j', reduced: 'i' };

/** The parameters that hold the numbers of kept and of reduced rows. */
export const rowNames = (axis: 0 | 1): { readonly kept: string; readonly reduced: string } =>
  axis === 1 ? { kept: 'rowsI', reduced: 'rowsJ' } : { kept: 'rowsJ', reduced: 'rowsI' };

/** What of a plan decides its parameters. */
type ParamsPlan = Pick<LaunchedPlan, 'dtype' | 'inputs' | 'further' | 'ranges'>;

/**
 * The parameters of a map-reduce: a pointer `x<position>` for every input, `out` and `index` where the
 * reduction has values and row numbers (dense, as (batch, rows, components)), `out<n>` and `index<n>` of
 * further reductions, `tasks` and `spans` where the plan has ranges (see `planRanges`), `rowsI`, `rowsJ`,
 * `batch`, `taskCount` where the plan has ranges, and for every input `ld<position>`, elements from one row to the next, and `batchStride<position>`,
 * where 0 broadcasts; then `rows<position>` for every input that is read by index; last `columnStride<position>` for every
 * input with values of pairs, from one j to the next, whose `ld<position>` is from one i to the next. The components of a row
 * or of a pair lie side by side; a parameter has one row.
 */
export function mapReduceParams(plan: ParamsPlan & PlannedReduction): KernelParam[] {
  const results: KernelParam[] = [];
  [plan, ...(plan.further ?? [])].forEach(({ reduction }, n) => {
    const { outputs } = traitsOf(reduction);
    const names = outputNames(n);
    if (outputs.includes('value')) results.push(pointer(names.value, plan.dtype, 'write'));
    if (outputs.includes('index')) results.push(pointer(names.index, 'int32', 'write'));
  });
  return paramsAround(plan, results);
}

/** All parameters of a map-reduce that writes to `results`. */
export function paramsAround(plan: ParamsPlan, results: readonly KernelParam[]): KernelParam[] {
  const { dtype, inputs } = plan;
  return [
    ...inputs.map(({ position, storage = dtype }) => pointer(inputName(position), storage, 'read')),
    ...results,
    ...(plan.ranges ? RANGE_POINTERS.map((name) => pointer(name, 'int64', 'read')) : []),
    ...['rowsI', 'rowsJ', 'batch', ...(plan.ranges ? [TASK_COUNT] : [])].map(int64),
    ...inputs
      .flatMap(({ position }) => [strideName(position), batchStrideName(position)])
      .map(int64),
    ...tableRows(plan).map(int64),
    ...columnStrides(plan).map(int64),
  ];
}

/** The numbers of rows of what is read by index. */
export const tableRows = ({ inputs }: Pick<LaunchedPlan, 'inputs'>): readonly string[] =>
  inputs.flatMap(({ position, table }) => (table === undefined ? [] : [tableRowsName(position)]));

/** The column strides of the inputs with values of pairs. */
export const columnStrides = ({ inputs }: Pick<LaunchedPlan, 'inputs'>): readonly string[] =>
  rowInputs(inputs, 'pair').map(({ position }) => columnStrideName(position));

/** How far the values of pairs of an input lie apart along kept rows, and along reduced rows. */
export function pairStrides(
  { axis }: Pick<LaunchedPlan, 'axis'>,
  position: number,
): { readonly kept: string; readonly reduced: string } {
  const [i, j] = [strideName(position), columnStrideName(position)];
  return axis === 1 ? { kept: i, reduced: j } : { kept: j, reduced: i };
}

/** Kept rows and reduced rows of a launch. */
export function rowsOf(
  { axis }: LaunchedPlan,
  { rowsI = 0, rowsJ = 0 }: Scalars,
): { readonly kept: number; readonly reduced: number } {
  return axis === 1 ? { kept: rowsI, reduced: rowsJ } : { kept: rowsJ, reduced: rowsI };
}

/** Rows of results of all batch entries. */
export const resultRows = (plan: LaunchedPlan, scalars: Scalars): number =>
  rowsOf(plan, scalars).kept * (scalars['batch'] ?? 0);

/** Tasks of at most `rows` kept rows each in one batch entry. */
export const launchTasks = (plan: LaunchedPlan, scalars: Scalars, rows: number): number =>
  plan.ranges ? (scalars[TASK_COUNT] ?? 0) : Math.ceil(rowsOf(plan, scalars).kept / rows);

const MAX_GRID_Z = 65535;

/** Blocks of so many kept rows each, `across` for each, and batch entries. */
export const launchGrid = (
  plan: LaunchedPlan,
  scalars: Scalars,
  rows: number,
  across: number,
): CudaGeometry['grid'] => [
  launchTasks(plan, scalars, rows),
  across,
  Math.min(scalars['batch'] ?? 0, MAX_GRID_Z),
];

/** What merging the parts of `rows` results costs. */
export function mergeCost(
  { dtype, splits }: Pick<UnrolledPlan, 'dtype' | 'splits'>,
  { accumulators }: RunningResult,
  rows: number,
): KernelCost {
  const words = wordsOf(accumulators, dtype);
  return {
    bytes: rows * (splits + 1) * words * dtypeBytes(dtype),
    flops: rows * splits * accumulators.length,
  };
}

/** Bytes of all inputs of a batch entry. */
export function inputBytes({ inputs, dtype }: LaunchedPlan, scalars: Scalars): number {
  const { rowsI = 0, rowsJ = 0 } = scalars;
  const rows = { i: rowsI, j: rowsJ, pair: rowsI * rowsJ, parameter: 1 };
  return inputs.reduce((sum, { position, category, dim, storage, table }) => {
    const count = table === undefined ? rows[category] : (scalars[tableRowsName(position)] ?? 0);
    return sum + count * dim * dtypeBytes(storage ?? dtype);
  }, 0);
}

/** What a launch must do at least: each input read once, an operation for every node at every pair. */
export function mapReduceCost(plan: UnrolledPlan, scalars: Scalars): KernelCost {
  const { batch = 0 } = scalars;
  const { kept, reduced } = rowsOf(plan, scalars);
  const read = inputBytes(plan, scalars);
  const reducers = reducersOf(plan);
  const total = (of: (one: Reducer) => number): number =>
    reducers.reduce((sum, one) => sum + of(one), 0);
  const { bins = 1 } = plan;
  const values = read + kept * bins * total(({ value }) => value.length) * dtypeBytes(plan.dtype);
  const nodes = postOrder(...plan.values).filter(({ args }) => args.length > 0);
  const operations = nodes.length + total(({ arity }) => arity);
  return {
    bytes: batch * (values + kept * total(({ index }) => index.length) * dtypeBytes('int32')),
    flops: batch * kept * reduced * operations,
  };
}
