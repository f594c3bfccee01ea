import type { ReductionKind } from '@mercer/formula';
import { exponentialReducer } from './exponentials.js';
import { extremaReducer } from './extrema.js';
import { kExtremaReducer } from './k-extrema.js';
import type { Reducer, ReducerParts } from './reducer.js';
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
