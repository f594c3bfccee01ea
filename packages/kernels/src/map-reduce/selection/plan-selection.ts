import { finish, reduction, type VectorExpr } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { PlanError } from '../../plan-error.js';
import { scheduleCosts } from '../choose-schedule.js';
import type { UnrolledPlan } from '../plan-types.js';
import { planUnrolled } from '../plan.js';
import type { MapReduceProblem } from '../problem.js';

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
  readonly pass: UnrolledPlan;
  /** How the pairs of every row are counted before. */
  readonly counts: UnrolledPlan;
  /** Numbers written for a pair. */
  readonly valueDim: number;
}

const NO_MORE = { values: undefined, axis: undefined };

/**
 * The plan of a selection. Throws a `PlanError` for a mask that is no single number and for formulas that are not written
 * out (`MAP_REDUCE_LIMITS`).
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
  const further = values === undefined ? [] : [reduction('Sum', values, { axis })];
  const counted = { ...rest, reduction: reduction('Count', mask, { axis }), further };
  if (finish(scheduleCosts(counted, limits))['row per thread'] === Infinity) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a selection: its formulas are too long to be written out (MAP_REDUCE_LIMITS). ` +
        `Reduce the dims of the mask, or select without values.`,
    );
  }
  const counts = planUnrolled({ ...rest, reduction: counted.reduction }, limits);
  const pass = planUnrolled(counted, limits, true);
  return Object.freeze({
    family: 'selection',
    pass,
    counts,
    valueDim: values?.dim ?? 0,
    summary: pass.summary.replace('map-reduce', 'selection'),
  });
}
