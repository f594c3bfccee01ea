import { variablesOfAll, type RealExpr } from '@mercer/formula/plan';
import { parameterLimit, type CudaLimits } from '../device-limits.js';
import type { DType } from '../dtype.js';
import { segmentNames } from '../elementwise/map-params.js';
import type { MapPlan } from '../elementwise/map-plan-types.js';
import type { Scalars } from '../emitted-kernel.js';
import { PlanError } from '../plan-error.js';

/** Sums of formulas over all elements of several runs of memory, and formulas of the sums. */
export interface TotalsProblem {
  /** Formulas of an element, by the names that the results know their sums by. */
  readonly terms: Readonly<Record<string, RealExpr>>;
  /** What the formulas call the elements: `x` where a run is of one memory; a run of several has an element of each. */
  readonly elements: readonly string[];
  /** The dtype of the elements. */
  readonly dtype: DType;
  /** Elements of each run; one or more. */
  readonly counts: readonly number[];
  /** Single numbers that the results read, by name. */
  readonly numbers: readonly { readonly name: string; readonly dtype: DType }[];
  readonly parameters: Readonly<Record<string, number>>;
  /** Formulas of the sums, the numbers and the parameters. A result may be the memory of a number. */
  readonly results: readonly { readonly expr: RealExpr; readonly dtype: DType }[];
  /** Whether the sums themselves are written, one behind the other. */
  readonly sums: boolean;
}

/** Everything that decides the text of totals on a GPU. All is computed in float64. */
export interface TotalsPlan extends Pick<TotalsProblem, 'numbers' | 'results' | 'sums'> {
  readonly family: 'totals';
  readonly terms: readonly { readonly name: string; readonly expr: RealExpr }[];
  /** The runs, as segments of a map of nothing. */
  readonly runs: MapPlan;
  readonly parameters: readonly string[];
}

/** A plan with the arguments that make it these totals. */
export interface PlannedTotals {
  readonly plan: TotalsPlan;
  readonly scalars: Scalars;
}

/** Elements of a block: enough that the sums of all blocks are few. */
const BLOCK_ELEMENTS = 2 ** 13;

/** Runs that one launch can take, beside numbers and results: each has its pointers, an extent and an end. */
export const mostRuns = (
  {
    elements,
    numbers,
    results,
    parameters,
    sums,
  }: Pick<TotalsProblem, 'elements' | 'numbers' | 'results' | 'parameters' | 'sums'>,
  limits: CudaLimits,
): number =>
  Math.floor(
    (parameterLimit(limits) -
      8 * (numbers.length + results.length + Number(sums) + Object.keys(parameters).length + 2)) /
      (8 * (elements.length + 2)),
  );

/** @throws PlanError INVALID_ARGUMENT where there is no run; LIMIT where there are more than {@link mostRuns} */
export function planTotals(problem: TotalsProblem, limits: CudaLimits): PlannedTotals {
  const { terms, elements, dtype, counts, numbers, parameters, results, sums } = problem;
  const most = mostRuns(problem, limits);
  if (counts.length === 0 || counts.length > most) {
    throw new PlanError(
      counts.length === 0 ? 'INVALID_ARGUMENT' : 'LIMIT',
      `planTotals: there are ${counts.length} runs, and the parameters of a launch hold ${most}. Pass 1 to ${most}.`,
    );
  }
  const read = new Set(variablesOfAll(results.map(({ expr }) => expr)));
  const names = Object.keys(parameters).filter((name) => read.has(name));
  const run: MapPlan = {
    family: 'map',
    target: { kind: 'cuda' },
    results: [],
    dtype: 'float64',
    mode: 'linear',
    rank: 1,
    inputs: elements.map((name) => ({ name, dtype, repeated: false })),
    parameters: [],
    indices: [],
    walk: undefined,
    segments: undefined,
  };
  const runs: MapPlan = Object.freeze({ ...run, segments: counts.length });
  const scalars: Record<string, number> = {};
  let end = 0;
  for (const [s, nameOf] of segmentNames(runs).entries()) {
    const count = counts[s] ?? 0;
    end += Math.max(1, Math.ceil(count / BLOCK_ELEMENTS));
    scalars[nameOf('n0')] = count;
    scalars[nameOf('end')] = end;
  }
  const plan: TotalsPlan = Object.freeze({
    family: 'totals',
    terms: Object.entries(terms).map(([name, expr]) => ({ name, expr })),
    runs,
    numbers,
    parameters: names,
    results,
    sums,
  });
  return {
    plan,
    scalars: {
      ...scalars,
      ...Object.fromEntries(names.map((name, k) => [`p${k}`, parameters[name] ?? NaN])),
    },
  };
}
