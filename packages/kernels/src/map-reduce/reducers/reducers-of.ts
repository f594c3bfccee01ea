import type { PlannedReduction } from '../launched-plan.js';
import type { MapReducePlan } from '../plan-types.js';
import { reducerOf } from './reducer-of.js';
import type { Reducer, ReducerDialect } from './reducer.js';

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
  }: Pick<MapReducePlan, keyof PlannedReduction | 'further' | 'sums' | 'bins'>,
  dialect: ReducerDialect = NO_TEXT,
): Reducer[] {
  if (bins !== undefined)
    return [reducerOf({ kind: reduction, dim: 1, weightDim, k, dialect, sums })];
  return [{ reduction, dim, weightDim, k }, ...further].map(({ reduction: kind, ...parts }) =>
    reducerOf({ ...parts, kind, dialect, sums }),
  );
}
