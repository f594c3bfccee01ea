import type { ReductionKind } from '@mercer/formula';
import type { LaunchedPlan, PlannedReduction } from '../launched-plan.js';
import type { Reducer, ReducerDialect, ReducerParts } from './reducer.js';
import { exponentialReducer } from './exponentials.js';
import { extremaReducer } from './extrema.js';
import { kExtremaReducer } from './k-extrema.js';
import { countReducer, sumReducer } from './sums.js';
import { varianceReducer } from './variance.js';

const REDUCERS: { readonly [K in ReductionKind]: (parts: ReducerParts) => Reducer } = {
  Sum: sumReducer,
  Prod: sumReducer,
  Mean: sumReducer,
  Var: varianceReducer,
  Any: countReducer,
  All: countReducer,
  Count: countReducer,
  LogSumExp: exponentialReducer,
  SumSoftMaxWeight: exponentialReducer,
  MaxSumShiftExp: exponentialReducer,
  Min: extremaReducer,
  Max: extremaReducer,
  ArgMin: extremaReducer,
  ArgMax: extremaReducer,
  MinArgMin: extremaReducer,
  MaxArgMax: extremaReducer,
  KMin: kExtremaReducer,
  ArgKMin: kExtremaReducer,
  KMinArgKMin: kExtremaReducer,
  KMax: kExtremaReducer,
  ArgKMax: kExtremaReducer,
  KMaxArgKMax: kExtremaReducer,
};

/** The text of a reduction. */
export function reducerOf(parts: ReducerParts): Reducer {
  return REDUCERS[parts.kind](parts);
}

const nothing = (): string => '';
/** For what is asked of a reducer beside its text. */
export const NO_TEXT: ReducerDialect = {
  lit: nothing,
  exp: nothing,
  log: nothing,
  abs: nothing,
  larger: undefined,
  scalar: undefined,
  vector: undefined,
};

/** The reducers of a plan's reductions, in order; of one component where these rest in memory. */
export function reducersOf(
  {
    reduction,
    dim,
    weightDim,
    k,
    further = [],
    sums,
    bins,
  }: Pick<LaunchedPlan, keyof PlannedReduction | 'further' | 'sums' | 'bins'>,
  dialect: ReducerDialect = NO_TEXT,
): Reducer[] {
  if (bins !== undefined)
    return [reducerOf({ kind: reduction, dim: 1, weightDim, k, dialect, sums })];
  return [{ reduction, dim, weightDim, k }, ...further].map(({ reduction: kind, ...parts }) =>
    reducerOf({ ...parts, kind, dialect, sums }),
  );
}
