import type { CpuLimits, CudaLimits, DeviceLimits } from '../device-limits.js';
import type { Scalars } from '../emitted-kernel.js';
import { DIRECT_COLUMNS } from './cuda-direct.js';
import { LARGEST_TILE } from './cuda-runs.js';
import { passBits, sortPasses } from './cuda-sort.js';
import type {
  CountRowsPlan,
  GatherRowsPlan,
  ScatterAddPlan,
  CountRowsProblem,
  GatherRowsProblem,
  ScatterAddProblem,
  ScatterSizes,
} from './scatter-plan-types.js';

/** Sums that a task keeps at hand in double precision: half of a usual second-level cache. */
const SUMS_AT_HAND = 16384;
/** Counts that one thread keeps at hand: sharing them out would only have the index read again. */
const COUNTS_AT_HAND = 65536;
/** Fewest columns of a task, where there are few rows. */
const LEAST_COLUMNS = 16;
/** Sorted entries of a block where there are few. */
const SMALL_TILE = 1024;
/** Indices that the blocks of a GPU read together at most, where each reads all of them; a block costs as much as some. */
const DIRECT_READS = 2 ** 23;
const INDICES_A_BLOCK = 4096;

/**
 * The plan of a sum by index. On a GPU it holds for as many rows as need the same passes and bits of a sort.
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
  const choice = limits.kind === 'cpu' ? chooseCpu(problem, limits) : chooseCuda(problem, limits);
  const passes = choice.passes > 0 ? `, ${choice.passes} passes of ${choice.bits} bits` : '';
  const tile = choice.tile > 0 ? `, tiles of ${choice.tile}` : '';
  const summary = `scatter-add ${from} to ${to} by ${index}, ${choice.mode}${passes}${tile}`;
  return Object.freeze({
    family: 'scatter-add',
    kind: limits.kind,
    summary,
    from,
    to,
    index,
    ...choice,
  });
}

type Choice = Pick<
  ScatterAddPlan,
  'mode' | 'needsZeros' | 'cores' | 'multiprocessors' | 'passes' | 'bits' | 'tile'
>;

function chooseCpu(problem: ScatterAddProblem, { cores }: CpuLimits): Choice {
  const { tasks } = cutDirect(problem, cores);
  // every task of the direct mode reads the whole index
  const mode = tasks <= 4 * cores + problem.columns ? 'direct' : 'sorted';
  return { mode, needsZeros: false, cores, multiprocessors: 0, ...NO_SORT };
}

function chooseCuda(problem: ScatterAddProblem, limits: CudaLimits): Choice {
  const { columns, deterministic = true } = problem;
  const { multiprocessors } = limits;
  if (isDirect(problem, Math.ceil(columns / DIRECT_COLUMNS))) {
    return { mode: 'direct', needsZeros: false, cores: 0, multiprocessors, ...NO_SORT };
  }
  if (deterministic) return chooseSorted(problem, limits);
  return { mode: 'atomic', needsZeros: true, cores: 0, multiprocessors, ...NO_SORT };
}

const NO_SORT = { passes: 0, bits: 0, tile: 0 };

/** Whether every block of a GPU can read the whole index: quicker than several launches. */
const isDirect = ({ count, rows }: Pick<ScatterSizes, 'count' | 'rows'>, strips = 1): boolean =>
  (count + INDICES_A_BLOCK) * rows * strips <= DIRECT_READS;

/** How entries are sorted on a GPU. */
export function chooseSorted(
  { count, rows, columns }: ScatterSizes,
  { multiprocessors }: CudaLimits,
): Choice {
  const blocks = Math.ceil(count / LARGEST_TILE) * Math.ceil(columns / lanesFor(columns));
  const tile = blocks >= 2 * multiprocessors ? LARGEST_TILE : SMALL_TILE;
  const sort = { passes: sortPasses(rows), bits: passBits(rows), tile };
  return { mode: 'sorted', needsZeros: true, cores: 0, multiprocessors, ...sort };
}

/** Threads beside each other over the columns: a power of two. */
function lanesFor(columns: number): number {
  return Math.min(32, 2 ** Math.ceil(Math.log2(Math.max(1, columns))));
}

/** The plan of a count. */
export function planCountRows(
  { index, to, count, rows }: CountRowsProblem,
  limits: DeviceLimits,
): CountRowsPlan {
  const { kind } = limits;
  const isCpu = kind === 'cpu';
  const mode = isCpu || isDirect({ count, rows }) ? 'direct' : 'atomic';
  return Object.freeze({
    family: 'count-rows',
    kind,
    index,
    to,
    mode,
    needsZeros: mode === 'atomic',
    summary: `count-rows ${to} by ${index}${isCpu ? '' : `, ${mode}`}`,
    cores: isCpu ? limits.cores : 0,
    multiprocessors: isCpu ? 0 : limits.multiprocessors,
  });
}

/** The plan of a gather. */
export function planGatherRows(
  { dtype, index }: GatherRowsProblem,
  limits: DeviceLimits,
): GatherRowsPlan {
  const { kind } = limits;
  const summary = `gather-rows ${dtype} by ${index}`;
  return Object.freeze({ family: 'gather-rows', kind, summary, dtype, index });
}

/** The scalars of a launch. */
export function scatterAddScalars(
  plan: ScatterAddPlan,
  sizes: ScatterSizes & { readonly valueStride: number },
): Scalars {
  const { count, rows, columns, valueStride } = sizes;
  if (plan.kind === 'cuda') {
    return { count, rows, columns, valueStride, tile: plan.tile, lanes: lanesFor(columns) };
  }
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
  const tasks = rows <= COUNTS_AT_HAND ? 1 : Math.max(1, cores);
  return { count, rows, rowsPerTask: Math.max(1, Math.ceil(rows / tasks)) };
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
