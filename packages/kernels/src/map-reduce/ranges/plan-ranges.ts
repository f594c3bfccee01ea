import { lanesOf } from '../../emit/cpu-vector.js';
import { PlanError } from '../../plan-error.js';
import { blockRows } from '../cuda/block.js';
import type { MapReducePlan } from '../plan-types.js';
import { CUDA_SIDE } from '../loops/plan-types.js';
import { checkKept, checkRanges, sortedRanges } from './check-ranges.js';
import type { KeptRanges, RowRange } from './ranges.js';

/** What a launch of a plan with ranges takes beside the inputs. */
export interface PlannedRanges {
  /** Four numbers a task: its first kept row, how many, its first span, the end of its spans. */
  readonly tasks: BigInt64Array;
  /** Two numbers a span of reduced rows: start and end. */
  readonly spans: BigInt64Array;
  readonly taskCount: number;
}

/**
 * Cuts kept rows into tasks for a plan with ranges. Every kept row is in one task: a row of `rangesI[k]` in one with the
 * spans of slice k, in the order of rows and with neighbours joined, any other row in one without spans, whose results are
 * the empty ones. No task crosses a range or is longer than what a block or a task of the plan keeps. The ranges are
 * those of the kept side: for a plan of axis 0 pass `swapAxes(ranges)`. All batch entries share them.
 *
 * Throws a `PlanError` where the plan has no ranges, and for rows out of bounds, overlapping ranges, and slices that
 * decrease or do not fit, with the values.
 *
 * ```ts
 * import { reduction, vj } from '@mercer/formula';
 * import { planMapReduce, planRanges } from '@mercer/kernels';
 * const problem = { reduction: reduction('Sum', vj(0, 1)), dtype: 'float32', ranges: true } as const;
 * const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 } as const;
 * const plan = planMapReduce({ ...problem, rowsI: 100, rowsJ: 100, batch: 1 }, limits);
 * const ranges = { rangesI: [[2, 5]], slicesI: [2], redrangesJ: [[1, 4], [6, 9]] } as const;
 * const { tasks, spans } = planRanges(plan, ranges, 5, 9);
 * console.log(tasks.join(), spans.join()); // 0,2,0,0,2,3,0,2 1,4,6,9
 * ```
 */
export function planRanges(
  plan: MapReducePlan,
  ranges: KeptRanges,
  rowsKept: number,
  rowsReduced: number,
): PlannedRanges {
  if (plan.ranges !== true) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      `cannot plan ranges: the plan '${plan.summary}' has none. Plan the map-reduce with ranges: true.`,
    );
  }
  checkRanges(ranges, rowsKept, rowsReduced);
  const spans: number[] = [];
  const slices: [from: number, until: number][] = [];
  for (const { place } of byFirstRow(ranges.rangesI)) {
    const from = spans.length / 2;
    const slice = ranges.redrangesJ.slice(ranges.slicesI[place - 1] ?? 0, ranges.slicesI[place]);
    for (const [start, end] of sortedRanges(slice)) {
      if (spans.length / 2 > from && spans.at(-1) === start) spans[spans.length - 1] = end;
      else spans.push(start, end);
    }
    slices[place] = [from, spans.length / 2];
  }
  return {
    ...tasksOf(plan, ranges.rangesI, (place) => slices[place] ?? [0, 0], rowsKept),
    spans: int64s(spans),
  };
}

/**
 * The tasks of ranges whose spans are a table of their own, such as one on a device: `slicesI` says which of them belong to each
 * range. The table is right: spans ascend within a slice and do not overlap.
 *
 * Throws a `PlanError` as {@link planRanges} does, but for spans, which are not seen.
 */
export function planTasks(
  plan: MapReducePlan,
  { rangesI, slicesI }: KeptRanges<unknown>,
  rowsKept: number,
  spanCount: number,
): Omit<PlannedRanges, 'spans'> {
  checkKept({ rangesI, slicesI }, rowsKept, spanCount);
  const sliceOf = (place: number): readonly [number, number] => [
    slicesI[place - 1] ?? 0,
    slicesI[place] ?? 0,
  ];
  return tasksOf(plan, rangesI, sliceOf, rowsKept);
}

function tasksOf(
  plan: MapReducePlan,
  rangesI: readonly RowRange[],
  sliceOf: (place: number) => readonly [from: number, until: number],
  rowsKept: number,
): Omit<PlannedRanges, 'spans'> {
  const most = taskRows(plan);
  const tasks: number[] = [];
  const addTasks = ([start, end]: RowRange, from: number, until: number): void => {
    for (let first = start; first < end; first += most) {
      tasks.push(first, Math.min(most, end - first), from, until);
    }
  };
  let next = 0;
  for (const { range, place } of byFirstRow(rangesI)) {
    addTasks([next, range[0]], 0, 0);
    addTasks(range, ...sliceOf(place));
    next = range[1];
  }
  addTasks([next, rowsKept], 0, 0);
  return { tasks: int64s(tasks), taskCount: tasks.length / 4 };
}

const byFirstRow = (
  ranges: readonly RowRange[],
): { readonly range: RowRange; readonly place: number }[] =>
  ranges
    .map((range, place) => ({ range, place }))
    .filter(({ range: [start, end] }) => end > start)
    .sort((a, b) => a.range[0] - b.range[0]);

/** Kept rows that a block or a task of a plan has. */
const taskRows = (plan: MapReducePlan): number =>
  plan.kind === 'cpu'
    ? plan.keptVectors * lanesOf(plan.level, plan.dtype)
    : 'form' in plan
      ? CUDA_SIDE * plan.keptPerThread
      : blockRows(plan);

function int64s(values: readonly number[]): BigInt64Array {
  const words = new BigInt64Array(values.length);
  values.forEach((value, at) => {
    words[at] = BigInt(value);
  });
  return words;
}
