import { sidesOf } from './params.js';
import { traitsOf, type Reduction, type VectorExpr } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { PlanError } from '../plan-error.js';
import { plannedReduction, type LaunchedPlan, type MapReduceInput } from './launched-plan.js';
import { rootsOf } from './lowering/written-out.js';
import {
  checkInputs,
  componentsOf,
  pairsText,
  planInputs,
  type InputReads,
} from './plan-inputs.js';
import { planSums, sumsText } from './plan-sums.js';
import type { MapReduceProblem } from './problem.js';

/** What the plans of both schedules take from a problem. */
export interface PlannedProblem {
  readonly all: readonly Reduction[];
  readonly roots: readonly VectorExpr[];
  readonly kept: 'i' | 'j';
  readonly reduced: 'i' | 'j';
  /** What a plan says of it, beside its inputs. */
  readonly common: Omit<LaunchedPlan, 'summary' | 'inputs'>;
  /** Kept rows of all batch entries, and rows that each reduces. */
  readonly keptRows: number;
  readonly reducedRows: number;
  /** Whether a running result is a list of the K best. */
  readonly isRanked: boolean;
  /** The inputs, once it is known how they are read. */
  readonly inputsOf: (reads: InputReads) => readonly MapReduceInput[];
  /** The beginning of a plan's line; `widths` are the components of each reduction. */
  readonly headOf: (inputs: readonly MapReduceInput[], widths: readonly number[]) => string[];
}

/** Reads a problem. Throws a `PlanError` for reductions over different axes and for sums that there are not. */
export function plannedProblem(problem: MapReduceProblem, limits: DeviceLimits): PlannedProblem {
  const { dtype, reduction, further = [], rowsI, rowsJ, batch, ranges } = problem;
  const { axis } = reduction;
  const all = [reduction, ...further];
  checkAxes(all);
  const roots = all.flatMap(rootsOf);
  const { kept, reduced } = sidesOf(reduction);
  const sums = planSums(problem);
  // where kernels have other functions for it
  const isFast = problem.fastMath === true && limits.kind === 'cuda' && dtype === 'float32';
  const kinds = all.map(({ kind, k = 1 }) => `${kind}${k > 1 ? ` ${k}` : ''}`).join(' + ');
  return {
    all,
    roots,
    kept,
    reduced,
    common: {
      family: 'map-reduce',
      dtype,
      axis,
      ranges: ranges === true ? true : undefined,
      sums,
      bins: undefined,
      ...(isFast && { fastMath: true }),
      ...plannedReduction(reduction),
      further: further.length > 0 ? Object.freeze(further.map(plannedReduction)) : undefined,
    },
    keptRows: (axis === 1 ? rowsI : rowsJ) * batch,
    reducedRows: axis === 1 ? rowsJ : rowsI,
    isRanked: all.some(({ kind }) => traitsOf(kind).takesK),
    inputsOf: (reads) => {
      const inputs = planInputs(roots, problem, reads);
      checkInputs(inputs);
      return inputs;
    },
    headOf: (inputs, widths) => [
      `map-reduce ${dtype} ${kinds} over ${reduced} of ${widths.join(' + ')}`,
      `i ${componentsOf(inputs, 'i')} j ${componentsOf(inputs, 'j')}`,
      ...pairsText(inputs),
      ...inputs.flatMap(({ position, storage }) => (storage ? [`${storage} ${position}`] : [])),
      ...(ranges === true ? ['ranges'] : []),
      ...(sums === undefined ? [] : [sumsText(sums)]),
      ...(isFast ? ['fast math'] : []),
    ],
  };
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
