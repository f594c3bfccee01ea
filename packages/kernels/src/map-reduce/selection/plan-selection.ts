import { finish, ops, reduction, type Reduction, type VectorExpr } from '@mercer/formula/plan';
import type { DeviceLimits } from '../../device-limits.js';
import { PlanError } from '../../plan-error.js';
import { scheduleCosts, MAP_REDUCE_LIMITS } from '../choose-schedule.js';
import type { MapReducePlan } from '../plan-types.js';
import { planUnrolled } from '../plan.js';
import { wholeProblem, type MapReduceProblem } from '../problem.js';
import { planPairTile } from '../loops/plan.js';

/** Pairs of rows that are wanted, listed row by row. */
export interface SelectionProblem extends Pick<
  MapReduceProblem,
  'dtype' | 'storage' | 'ranges' | 'rowsI' | 'rowsJ' | 'batch'
> {
  /** One number for every pair, which is wanted where it is not 0; a NaN is not 0. */
  readonly mask: VectorExpr;
  /** What is also written for every pair that is wanted. */
  readonly values?: VectorExpr;
  /** 1: for every row of i the rows of j that are wanted. 0: the other way round. Default 1. */
  readonly axis?: 0 | 1;
}

/** How pairs are selected: the plan of counting them, with what is written beside. */
export interface SelectionPlan {
  readonly family: 'selection';
  /** One readable line. */
  readonly summary: string;
  /** The pass over all pairs, in one part: a row writes its pairs in order. */
  readonly pass: MapReducePlan;
  /** How the pairs of every row are counted before. */
  readonly counts: MapReducePlan;
  /** Numbers written for a pair. */
  readonly valueDim: number;
}

const NO_MORE = { values: undefined, axis: undefined };

/**
 * The plan of a selection: a row per thread, or tiles of pairs where formulas are too long for that (`MAP_REDUCE_LIMITS`). Throws a
 * `PlanError` for a mask that is no single number, and for more than 64 values.
 *
 * ```ts
 * import { ops, vi, vj } from '@mercer/formula';
 * import { planSelection } from '@mercer/kernels';
 * const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 } as const;
 * const near = ops.lessThan(ops.sqDist(vi(0, 3), vj(1, 3)), 0.01);
 * const plan = planSelection({ mask: near, dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 }, limits);
 * console.log(plan.valueDim); // 0
 * ```
 */
export function planSelection(problem: SelectionProblem, limits: DeviceLimits): SelectionPlan {
  const { mask, values, axis = 1, ...rest } = { ...NO_MORE, ...problem };
  if (mask.dim !== 1) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a selection: the mask has dim ${mask.dim}. Pass one number for every pair, such as a comparison of distances.`,
    );
  }
  const most = MAP_REDUCE_LIMITS.results;
  if (values !== undefined && values.dim > most) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a selection: it writes ${values.dim} numbers for a pair, and ${most} is the most. ` +
        `Select without values, and compute them for the pairs that were found.`,
    );
  }
  const further = values === undefined ? [] : [reduction('Sum', values, { axis })];
  const counted = { ...rest, reduction: reduction('Count', mask, { axis }), further };
  const isTiled = finish(scheduleCosts(counted, limits))['row per thread'] === Infinity;
  const [counts, pass] = isTiled
    ? tiledPlans(rest, counted.reduction, values, limits)
    : [
        planUnrolled({ ...rest, reduction: counted.reduction }, limits),
        planUnrolled(counted, limits, true),
      ];
  return Object.freeze({
    family: 'selection',
    pass,
    counts,
    valueDim: values?.dim ?? 0,
    summary: pass.summary.replace('map-reduce', 'selection'),
  });
}

/** The plans in tiles: every component that is written is a value of the pair. */
function tiledPlans(
  rest: Omit<SelectionProblem, 'mask' | 'values' | 'axis'>,
  mask: Reduction,
  values: VectorExpr | undefined,
  limits: DeviceLimits,
): readonly [counts: MapReducePlan, pass: MapReducePlan] {
  const further = Array.from({ length: values?.dim ?? 0 }, (_, c) =>
    reduction('Sum', ops.elem(values ?? 0, c), { axis: mask.axis }),
  );
  const problem = { ...rest, reduction: mask };
  return [
    finish(planPairTile(wholeProblem(problem), limits)),
    finish(planPairTile(wholeProblem({ ...problem, further }), limits, true)),
  ];
}
