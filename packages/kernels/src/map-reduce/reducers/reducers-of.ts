import type { MapReducePlan } from '../plan.js';
import { reducerOf } from './reducer-of.js';
import type { Reducer, ReducerDialect } from './reducer.js';

const nothing = (): string => '';
/** For what is asked of a reducer beside its text. */
const NO_TEXT: ReducerDialect = { lit: nothing, exp: nothing, log: nothing, abs: nothing };

type Reductions = Pick<MapReducePlan, 'reduction' | 'dim' | 'weightDim' | 'k' | 'further'>;

/** The reducers of a plan's reductions, in order. */
export function reducersOf(plan: Reductions, dialect: ReducerDialect = NO_TEXT): Reducer[] {
  return [plan, ...(plan.further ?? [])].map(({ reduction, dim, weightDim, k }) =>
    reducerOf({ kind: reduction, dim, weightDim, k, dialect }),
  );
}
