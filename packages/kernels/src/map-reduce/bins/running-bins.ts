import { indent, lines } from '../../emit/text.js';
import type { LaunchedPlan } from '../launched-plan.js';
import type { Accumulator, Reducer, ReducerDialect } from '../reducers/reducer.js';
import { reducersOf } from '../reducers/reducers-of.js';
import { type RunningResult, stateText } from '../reducers/running-result.js';

/** Where the definitions of the running result of one component stand: a kept row has an array of them in memory. */
export const BIN = 'bin';

/** What every dialect's kernels of components in memory are made from. */
export interface RunningBins {
  /** How a component is added up. */
  readonly reducer: Reducer;
  /** Its definitions. */
  readonly text: string;
}

export function runningBins(
  plan: Parameters<typeof reducersOf>[0],
  dialect?: ReducerDialect,
): RunningBins {
  const [reducer] = reducersOf(plan, dialect);
  if (reducer === undefined) throw new TypeError('a plan has a reduction');
  const text = lines(`namespace ${BIN} {`, indent(stateText(reducer)), '}');
  return { reducer, text };
}

/** The running result of a row whose components are in memory. */
export const inMemory = (
  text: string,
  accumulators: readonly Accumulator[],
  add: (place: string, weight: string) => string,
  rows: NonNullable<RunningResult['inMemory']>,
): RunningResult => ({
  text,
  accumulators,
  block: undefined,
  several: undefined,
  add: (_, __, [place = '', weight = '']) => add(place, weight),
  outputs: [],
  inMemory: rows,
});

/** The part of the reduced rows that a kernel is at. */
export const partOf = ({ splits }: { readonly splits: number }): string =>
  splits > 1 ? 'part' : '0';

/** How many components a plan keeps in memory. */
export function binsOf({ bins }: Pick<LaunchedPlan, 'bins'>): number {
  if (bins === undefined) throw new TypeError('the plan keeps no components in memory');
  return bins;
}
