import {
  finish,
  orderSteps,
  traitsOf,
  type Expr,
  type Reduction,
  type Steps,
} from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { dtypeBytes } from '../dtype.js';
import { PlanError } from '../plan-error.js';
import { chooseCpuTile } from './cpu/choose-tile.js';
import { chooseSchedule } from './choose-schedule.js';
import { chooseCudaTile } from './cuda/choose-tile.js';
import { plannedReduction } from './launched-plan.js';
import { rootsOf, writtenOut } from './lowering/written-out.js';
import { checkInputs, componentsOf, pairsText, planInputs, unrolledReads } from './plan-inputs.js';
import { planSums, sumsText } from './plan-sums.js';
import type { MapReducePlan, UnrolledPlan } from './plan-types.js';
import { wholeProblem, type MapReduceProblem } from './problem.js';
import { reducersOf } from './reducers/reducers-of.js';
import { wordsOf } from './reducers/state-words.js';
import { shareFactors } from './shared-factors.js';
import { planPairTile } from './pair-tile/plan.js';

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
  const lowered = yield* writtenOut(all);
  const values = shareFactors(lowered.values);
  yield;
  const inputs = planInputs(roots, problem, yield* unrolledReads(values, lowered.gathers));
  checkInputs(inputs);
  const gathers = lowered.gathers.length > 0 ? Object.freeze(lowered.gathers) : undefined;
  yield;
  const sums = planSums(problem);
  const common = {
    ...({ family: 'map-reduce', dtype, axis } as const),
    ranges: problem.ranges === true ? (true as const) : undefined,
    sums,
    ...plannedReduction(reduction),
    further: further.length > 0 ? Object.freeze(further.map(plannedReduction)) : undefined,
    gathers,
    values: Object.freeze([...values]),
    inputs,
  };
  const accumulators = reducersOf(common).flatMap((reducer) => reducer.accumulators);
  const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const nodes = yield* orderSteps<Expr>(values);
  const shape = {
    dtype,
    accumulators: wordsOf(accumulators, dtype),
    operations: nodes.length,
    stateBytes:
      accumulators.length * (accumulators.some(({ type }) => type === 'W') ? 8 : dtypeBytes(dtype)),
    ranked: all.some(({ kind }) => traitsOf(kind).takesK),
    own: componentsOf(inputs, kept),
    other: componentsOf(inputs, reduced),
    pairs: componentsOf(inputs, 'pair'),
    rows: (axis === 1 ? problem.rowsI : problem.rowsJ) * problem.batch,
    batch: problem.batch,
    terms: axis === 1 ? problem.rowsJ : problem.rowsI,
    mergeable: problem.ranges !== true,
    blockRows: problem.ranges === true ? problem.rangeRows : undefined,
    whole,
  };
  const kinds = all.map(({ kind, k = 1 }) => `${kind}${k > 1 ? ` ${k}` : ''}`).join(' + ');
  const dims = all.map(({ formula }) => String(formula.dim)).join(' + ');
  const head = [
    `map-reduce ${dtype} ${kinds} over ${reduced} of ${dims}`,
    `i ${componentsOf(inputs, 'i')} j ${componentsOf(inputs, 'j')}`,
    ...pairsText(inputs),
    ...inputs.flatMap(({ position, storage }) => (storage ? [`${storage} ${position}`] : [])),
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

function checkAxes([first, ...further]: readonly Reduction[]): void {
  for (const { kind, axis } of further) {
    if (axis === first?.axis) continue;
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a map-reduce: the first reduction has axis ${first?.axis}, and ${kind} has axis ${axis}. ` +
        `Reduce over the same axis, or plan them one by one.`,
    );
  }
}
