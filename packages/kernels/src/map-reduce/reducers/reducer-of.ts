import type { ReductionKind } from '@mercer/formula';
import { exponentialReducer } from './exponentials.js';
import { extremaReducer } from './extrema.js';
import { kExtremaReducer } from './k-extrema.js';
import type { Reducer, ReducerParts } from './reducer.js';
import { countReducer, sumReducer } from './sums.js';

const REDUCERS: { readonly [K in ReductionKind]: ((parts: ReducerParts) => Reducer) | undefined } =
  {
    Sum: sumReducer,
    Prod: sumReducer,
    Mean: sumReducer,
    Var: undefined,
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

/** The text of a reduction. Throws a `RangeError` for a kind that has none. */
export function reducerOf(parts: ReducerParts): Reducer {
  const make = REDUCERS[parts.kind];
  if (make === undefined) {
    throw new RangeError(
      `cannot plan a map-reduce: there is no kernel text for the reduction ${parts.kind}. ` +
        `Take the Mean of the formula and of its square.`,
    );
  }
  return make(parts);
}
