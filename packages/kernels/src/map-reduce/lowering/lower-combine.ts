import {
  add,
  constant,
  eq,
  call,
  ge,
  gt,
  lt,
  max,
  min,
  ne,
  select,
  type BoolExpr,
  type Combine,
  type RealExpr,
} from '@mercer/formula';

type Values = readonly RealExpr[];

/** Combinations of a few values, written out. */
export const WRITTEN_COMBINE: { readonly [K in Combine]: (values: Values) => RealExpr } = {
  sum: (values) => values.reduce((sum, value) => add(sum, value)),
  max: (values) => values.reduce((best, value) => max(best, value)),
  min: (values) => values.reduce((best, value) => min(best, value)),
  argmax: (values) => firstBest(values, gt),
  argmin: (values) => firstBest(values, lt),
};

const flag = (condition: BoolExpr): RealExpr => select(condition, 1, 0);
const where = (flagged: RealExpr, value: RealExpr | number, other: RealExpr | number): RealExpr =>
  select(ne(flagged, 0), value, other);

/** The number of the first best value; a NaN is better than any number. */
function firstBest(values: Values, better: typeof gt | typeof lt): RealExpr {
  let best = values[0] ?? constant(NaN);
  let place: RealExpr = constant(0);
  for (const [k, value] of values.entries()) {
    if (k === 0) continue;
    const wins = where(flag(ne(value, value)), 1, flag(better(value, best)));
    const taken = where(flag(eq(best, best)), wins, 0);
    [best, place] = [where(taken, value, best), where(taken, k, place)];
  }
  return place;
}

/** 1 where `floor(position + 1/2)` is the component's number, else 0; components with fixed numbers share the floor. */
export function oneHotOf(position: RealExpr, number: RealExpr): RealExpr {
  const shifted = add(position, 0.5);
  if (number.value !== undefined) return flag(eq(call('floor', [shifted]), number));
  return select(ge(shifted, number), select(lt(shifted, add(number, 1)), 1, 0), 0);
}
