import {
  finish,
  type Category,
  type RealExpr,
  type Reduction,
  type ReductionKind,
  type Steps,
} from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { dtypeBytes } from '../dtype.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import { chooseCpuTile, type CpuTile } from './choose-cpu-tile.js';
import { chooseCudaTile, type CudaTile } from './choose-cuda-tile.js';
import { toListSteps, type ExpressionList } from './expression-list.js';
import { Gathers, toGatherList, type GatherList } from './gathers.js';
import type { HalfDType } from './half-storage.js';
import { checkInputs, componentsOf, planInputs, unrolledReads } from './plan-inputs.js';
import { planSums, sumsText } from './plan-sums.js';
import { wholeProblem, type MapReduceProblem } from './problem.js';
import { reducersOf } from './reducers/reducers-of.js';
import { wordsOf } from './reducers/state-words.js';
import type { SumOptions } from './reducers/sum-options.js';
import { shareFactors } from './shared-factors.js';
import { rootsOf, valuesOf } from './values-of.js';
import { isWide } from './wide/is-wide.js';
import type { WidePlan } from './wide/wide-plan-types.js';
import { planWide } from './wide/wide-plan.js';

/** An input of a plan: `dim` numbers for every row of i or of j, or once. */
export interface MapReduceInput {
  readonly position: number;
  readonly category: Category;
  readonly dim: number;
  /** The type of its elements where that is not the data type. */
  readonly storage?: HalfDType | undefined;
  /** Rows are taken by index, of as many as `rows<position>` says: of nothing but a table, or also of the current row. */
  readonly table?: 'only' | 'also' | undefined;
}

/** A reduction of a plan. */
export interface PlannedReduction {
  readonly reduction: ReductionKind;
  /** Components of the formula. */
  readonly dim: number;
  /** Components of the weight, 1 where there is none. */
  readonly weightDim: number;
  readonly k: number;
}

/** What every plan says, whether the formula is written out or loops over its components. */
export interface LaunchedPlan extends PlannedReduction {
  readonly family: 'map-reduce';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  /** 1: over j, a result for every i. 0: over i. */
  readonly axis: 0 | 1;
  /** Reductions of the same pass beside the first, where there are any. */
  readonly further?: readonly PlannedReduction[] | undefined;
  /** Whether the launch says which rows each kept row is reduced over, see `planRanges`. */
  readonly ranges?: true | undefined;
  /** How sums are added up where that is unusual. */
  readonly sums?: SumOptions | undefined;
  readonly inputs: readonly MapReduceInput[];
}

interface CommonPlan extends LaunchedPlan {
  /** What is computed for a pair of rows: of each reduction the formula's components, then those of the weight. */
  readonly values: ExpressionList;
  /** Rows that are taken by index, where there are any. */
  readonly gathers?: GatherList | undefined;
}

/** How a formula is reduced on a CPU. */
export interface CpuMapReducePlan extends CommonPlan, CpuTile {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
}

/** How a formula is reduced on a GPU. */
export interface CudaMapReducePlan extends CommonPlan, CudaTile {
  readonly kind: 'cuda';
}

/** How a short formula is reduced: every operation on every component is written out. */
export type UnrolledPlan = CpuMapReducePlan | CudaMapReducePlan;

/** How a formula is reduced: plain frozen data, the same for the same problem and limits. */
export type MapReducePlan = UnrolledPlan | WidePlan;

/**
 * The plan of a map-reduce: every component of the formula written out, or loops over them where it is long (beyond
 * `MAP_REDUCE_LIMITS`, or quicker so). Throws a `RangeError` for functions beyond their largest order, and for
 * several reductions of one pass that are together too long to be written out.
 *
 * ```ts
 * import { ops, reduction, vi, vj } from '@mercer/formula';
 * import { emitMapReduce, planMapReduce } from '@mercer/kernels';
 * const gaussian = ops.exp(ops.neg(ops.sqDist(vi(0, 3), vj(1, 3))));
 * const plan = planMapReduce(
 *   { reduction: reduction('Sum', gaussian), dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary, emitMapReduce(plan).steps.length); // map-reduce float32 Sum over j of 1, i 3 j 3, 4 groups of 8 rows, tiles of 256 1
 * ```
 */
export function planMapReduce(problem: MapReduceProblem, limits: DeviceLimits): MapReducePlan {
  return finish(planMapReduceSteps(problem, limits));
}

/** {@link planMapReduce} in steps. */
export function* planMapReduceSteps(
  given: MapReduceProblem,
  limits: DeviceLimits,
): Steps<MapReducePlan> {
  const problem = wholeProblem(given);
  const wide = yield* isWide(problem, limits);
  return wide ? yield* planWide(problem, limits) : yield* unrolledSteps(problem, limits);
}

/**
 * The plan that writes out every component of the formulas, whatever their length: callers hold to `MAP_REDUCE_LIMITS`. With
 * `whole` (default false) one thread sees all rows that a kept row is reduced over, in order.
 */
export function planUnrolled(
  problem: MapReduceProblem,
  limits: DeviceLimits,
  whole = false,
): UnrolledPlan {
  return finish(unrolledSteps(wholeProblem(problem), limits, whole));
}

function* unrolledSteps(
  problem: MapReduceProblem,
  limits: DeviceLimits,
  whole = false,
): Steps<UnrolledPlan> {
  const { dtype, reduction, further = [] } = problem;
  const { axis } = reduction;
  const all = [reduction, ...further];
  checkAxes(all);
  const roots = all.flatMap(rootsOf);
  const found = new Gathers();
  const lowered: RealExpr[] = [];
  for (const one of all) lowered.push(...(yield* valuesOf(one, found)));
  const values = shareFactors(lowered);
  yield;
  const inputs = planInputs(roots, problem, yield* unrolledReads(values, found.found));
  checkInputs(inputs);
  const gathers = toGatherList(found.found);
  yield;
  const sums = planSums(problem);
  const common = {
    ...({ family: 'map-reduce', dtype, axis } as const),
    ranges: problem.ranges === true ? (true as const) : undefined,
    sums,
    ...planned(reduction),
    further: further.length > 0 ? Object.freeze(further.map(planned)) : undefined,
    gathers,
    ...{ values: yield* toListSteps(values), inputs },
  };
  const slots = reducersOf(common).flatMap((reducer) => reducer.slots);
  const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const shape = {
    ...{ dtype, slots: wordsOf(slots, dtype), operations: common.values.nodes.length },
    stateBytes: slots.length * (slots.some(({ type }) => type === 'W') ? 8 : dtypeBytes(dtype)),
    ranked: all.some(({ kind }) => kind.includes('K')),
    ...{ own: componentsOf(inputs, kept), other: componentsOf(inputs, reduced) },
    rows: (axis === 1 ? problem.rowsI : problem.rowsJ) * problem.batch,
    batch: problem.batch,
    terms: axis === 1 ? problem.rowsJ : problem.rowsI,
    mergeable: problem.ranges !== true,
    whole,
  };
  const kinds = all.map(({ kind, k = 1 }) => `${kind}${k > 1 ? ` ${String(k)}` : ''}`).join(' + ');
  const dims = all.map(({ formula }) => String(formula.dim)).join(' + ');
  const head = [
    `map-reduce ${dtype} ${kinds} over ${reduced} of ${dims}`,
    `i ${String(componentsOf(inputs, 'i'))} j ${String(componentsOf(inputs, 'j'))}`,
    ...inputs.flatMap(({ position, storage }) =>
      storage ? [`${storage} ${String(position)}`] : [],
    ),
    ...(common.ranges ? ['ranges'] : []),
    ...(sums === undefined ? [] : [sumsText(sums)]),
  ];
  if (limits.kind === 'cpu') {
    const { text, ...tile } = chooseCpuTile(shape, limits);
    const summary = [...head, text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const { text, ...tile } = chooseCudaTile(shape, limits);
  return Object.freeze({ kind: 'cuda', summary: [...head, text].join(', '), ...common, ...tile });
}

const planned = ({ kind, formula, weight, k = 1 }: Reduction): PlannedReduction =>
  Object.freeze({ reduction: kind, dim: formula.dim, weightDim: weight?.dim ?? 1, k });

function checkAxes([first, ...further]: readonly Reduction[]): void {
  for (const { kind, axis } of further) {
    if (axis === first?.axis) continue;
    throw new RangeError(
      `cannot plan a map-reduce: the first reduction has axis ${String(first?.axis)}, and ${kind} has axis ${String(axis)}. ` +
        `Reduce over the same axis, or plan them one by one.`,
    );
  }
}
