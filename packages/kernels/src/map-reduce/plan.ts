import { finish, orderSteps, type Expr, type Op, type Steps } from '@mercer/formula/plan';
import { isInterpreted, type DeviceLimits } from '../device-limits.js';
import { dtypeBytes } from '../dtype.js';
import { chooseCpuTile } from './cpu/choose-tile.js';
import { binnedSum, type BinnedSum } from './bins/binned-sum.js';
import { chooseSchedule, scheduleCosts, INTERPRETER_LIMITS } from './choose-schedule.js';
import { chooseCudaTile } from './cuda/choose-tile.js';
import { writtenOut, shareFactors } from './lowering/written-out.js';
import { componentsOf, unrolledReads } from './plan-inputs.js';
import { plannedProblem } from './planned-problem.js';
import type { MapReducePlan, UnrolledPlan } from './plan-types.js';
import { binSums } from './plan-sums.js';
import { wholeProblem, type MapReduceProblem } from './problem.js';
import { reducersOf } from './reducers/reducers-of.js';
import { wordsOf } from './reducers/reducer.js';
import { planPairTile } from './loops/plan.js';

/**
 * The plan of a map-reduce: a row per thread with every component of the formula written out, or a tile of pairs with loops over them
 * where that is quicker or the only way (`chooseSchedule`). Throws a `PlanError` for functions beyond their largest order, and for
 * what a kernel has no memory for.
 *
 * ```ts
 * import { ops, reduction, vi, vj } from '@mercer/formula';
 * import { emitMapReduce, planMapReduce } from '@mercer/kernels';
 * const gaussian = ops.exp(ops.neg(ops.sqDist(vi(0, 3), vj(1, 3))));
 * const plan = planMapReduce(
 *   { reduction: reduction('Sum', gaussian), dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary, emitMapReduce(plan).steps.length); // map-reduce float32 Sum over j of 1, i 3 j 3, 4 vectors of 8 rows, tiles of 256 1
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
  const binned = yield* binnedPlan(problem, limits);
  if (binned !== undefined) return binned;
  const schedule = yield* chooseSchedule(problem, limits);
  return schedule === 'pair tile'
    ? yield* planPairTile(problem, limits)
    : yield* unrolledSteps(problem, limits);
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

/** The plan of a sum whose components rest in memory, where a pair has one of many at most and its formula can be written out. */
function* binnedPlan(
  problem: MapReduceProblem,
  limits: DeviceLimits,
): Steps<UnrolledPlan | undefined> {
  const binned = binnedSum(problem, limits);
  if (binned === undefined) return undefined;
  if (isInterpreted(limits) && binned.bins > INTERPRETER_LIMITS.bins) return undefined;
  const { pair } = binned;
  const costs = yield* scheduleCosts({ ...problem, reduction: pair }, limits);
  if (costs['row per thread'] === Infinity) return undefined;
  return yield* unrolledSteps(problem, limits, false, binned);
}

/** Operations that become many instructions, and how many. */
const LONG_OPERATIONS: readonly Op[] = ['pow', 'call'];
const LONG = 32;

function* unrolledSteps(
  problem: MapReduceProblem,
  limits: DeviceLimits,
  whole = false,
  binned?: BinnedSum,
): Steps<UnrolledPlan> {
  const read = plannedProblem(problem, limits);
  const { all, kept, reduced } = read;
  const { dtype } = problem;
  const lowered = yield* writtenOut(binned === undefined ? all : [binned.pair]);
  const values = shareFactors(lowered.values);
  yield;
  const inputs = read.inputsOf(yield* unrolledReads(values, lowered.gathers));
  const gathers = lowered.gathers.length > 0 ? Object.freeze(lowered.gathers) : undefined;
  yield;
  const common = {
    ...read.common,
    ...(binned !== undefined && { bins: binned.bins, sums: binSums(read.common.sums) }),
    gathers,
    values: Object.freeze([...values]),
    inputs,
  };
  const accumulators = reducersOf(common).flatMap((reducer) => reducer.accumulators);
  const nodes = yield* orderSteps<Expr>(values);
  const shape = {
    dtype,
    accumulators: wordsOf(accumulators, dtype) * (binned?.bins ?? 1),
    bins: binned?.bins,
    operations: nodes.length,
    instructions: nodes.reduce((sum, { op }) => sum + (LONG_OPERATIONS.includes(op) ? LONG : 1), 0),
    stateBytes:
      accumulators.length * (accumulators.some(({ type }) => type === 'W') ? 8 : dtypeBytes(dtype)),
    // in memory a row of a thread is as costly as a list of the K best
    ranked: read.isRanked || binned !== undefined,
    own: componentsOf(inputs, kept),
    other: componentsOf(inputs, reduced),
    pairs: componentsOf(inputs, 'pair'),
    rows: read.keptRows,
    batch: problem.batch,
    terms: read.reducedRows,
    mergeable: problem.ranges !== true,
    blockRows: problem.ranges === true ? problem.rangeRows : undefined,
    whole,
  };
  const widths = all.map(({ formula }) => formula.dim);
  const head = [
    ...read.headOf(inputs, widths),
    ...(binned === undefined ? [] : ['results in memory']),
  ];
  if (limits.kind === 'cpu') {
    const { text, ...tile } = chooseCpuTile(shape, limits);
    const summary = [...head, text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const { text, ...tile } = chooseCudaTile(shape, limits);
  return Object.freeze({ kind: 'cuda', summary: [...head, text].join(', '), ...common, ...tile });
}
