import type { CpuLimits, DeviceLimits } from '../device-limits.js';
import type { SumDType } from '../elementwise/sum-plan.js';
import type { DType } from '../dtype.js';
import type { Scalars } from '../emitted-kernel.js';
import type {
  CountRowsProblem,
  GatherRowsProblem,
  IndexDType,
  ScatterAddProblem,
  ScatterSizes,
} from './scatter-problem.js';

/**
 * How rows are summed by index: plain frozen data, the same for the same problem and limits. 'direct': tasks own blocks of
 * the result and read the whole index. 'sorted': positions are put in the order of the rows first.
 */
export interface ScatterAddPlan {
  readonly family: 'scatter-add';
  readonly kind: 'cpu';
  /** One readable line. */
  readonly summary: string;
  readonly from: SumDType;
  readonly to: SumDType;
  readonly index: IndexDType;
  readonly mode: 'direct' | 'sorted';
  /** Threads to cut the rows for. */
  readonly cores: number;
}

/** How the entries of each row are counted. */
export interface CountRowsPlan {
  readonly family: 'count-rows';
  readonly kind: 'cuda' | 'cpu';
  readonly summary: string;
  readonly index: IndexDType;
  readonly to: IndexDType;
  readonly cores: number;
}

/** How rows are taken by index. */
export interface GatherRowsPlan {
  readonly family: 'gather-rows';
  readonly kind: 'cuda' | 'cpu';
  readonly summary: string;
  readonly dtype: DType;
  readonly index: IndexDType;
}

/** Sums that a task keeps at hand in double precision: half of a usual second-level cache. */
const SUMS_AT_HAND = 16384;
/** Fewest columns of a task, where there are few rows. */
const LEAST_COLUMNS = 16;

/**
 * The plan of a sum by index.
 *
 * ```ts
 * import { emitScatterAdd, planScatterAdd } from '@mercer/kernels';
 * const plan = planScatterAdd(
 *   { from: 'float32', to: 'float32', index: 'int32', count: 1000, rows: 10, columns: 3 },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary); // scatter-add float32 to float32 by int32, direct
 * console.log(emitScatterAdd(plan).steps.length); // 1
 * ```
 */
export function planScatterAdd(problem: ScatterAddProblem, limits: DeviceLimits): ScatterAddPlan {
  const { from, to, index } = problem;
  const { cores } = onCpu(limits);
  const { tasks } = cutDirect(problem, cores);
  // every task of the direct mode reads the whole index
  const mode = tasks <= 4 * cores + problem.columns ? 'direct' : 'sorted';
  const summary = `scatter-add ${from} to ${to} by ${index}, ${mode}`;
  return Object.freeze({
    family: 'scatter-add',
    kind: 'cpu',
    ...{ summary, from, to, index, mode, cores },
  });
}

/** The plan of a count. */
export function planCountRows(
  { index, to }: CountRowsProblem,
  limits: DeviceLimits,
): CountRowsPlan {
  const summary = `count-rows ${to} by ${index}`;
  const { cores } = onCpu(limits);
  return Object.freeze({ family: 'count-rows', kind: limits.kind, summary, index, to, cores });
}

/** The plan of a gather. */
export function planGatherRows(
  { dtype, index }: GatherRowsProblem,
  limits: DeviceLimits,
): GatherRowsPlan {
  const { kind } = onCpu(limits);
  const summary = `gather-rows ${dtype} by ${index}`;
  return Object.freeze({ family: 'gather-rows', kind, summary, dtype, index });
}

/** The scalars of a launch. */
export function scatterAddScalars(
  plan: ScatterAddPlan,
  sizes: ScatterSizes & { readonly valueStride: number },
): Scalars {
  const { count, rows, columns, valueStride } = sizes;
  const { rowsPerTask, columnsPerTask } =
    plan.mode === 'direct'
      ? cutDirect(sizes, plan.cores)
      : { rowsPerTask: Math.max(1, Math.ceil(rows / plan.cores)), columnsPerTask: columns };
  return { count, rows, columns, valueStride, rowsPerTask, columnsPerTask };
}

/** The scalars of a launch. */
export function countRowsScalars(
  { cores }: CountRowsPlan,
  { count, rows }: Pick<ScatterSizes, 'count' | 'rows'>,
): Scalars {
  return { count, rows, rowsPerTask: Math.max(1, Math.ceil(rows / Math.max(1, cores))) };
}

function onCpu(limits: DeviceLimits): CpuLimits {
  if (limits.kind === 'cpu') return limits;
  throw new RangeError(
    'rows by index: there is no text for a GPU yet. Move the tensors to the CPU with to("cpu").',
  );
}

/** Blocks of the result whose sums a task can keep, enough of them for every core. */
function cutDirect(
  { rows, columns }: ScatterSizes,
  cores: number,
): { rowsPerTask: number; columnsPerTask: number; tasks: number } {
  const share = rows >= cores ? columns : Math.ceil((columns * rows) / cores);
  const columnsPerTask = Math.max(
    1,
    Math.min(columns, Math.max(LEAST_COLUMNS, share), SUMS_AT_HAND),
  );
  const atHand = Math.floor(SUMS_AT_HAND / columnsPerTask);
  const rowsPerTask = Math.max(1, Math.min(Math.ceil(rows / cores), atHand));
  const tasks = Math.ceil(rows / rowsPerTask) * Math.ceil(columns / columnsPerTask);
  return { rowsPerTask, columnsPerTask, tasks };
}
