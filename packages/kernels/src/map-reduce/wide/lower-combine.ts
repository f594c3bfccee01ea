import {
  add,
  constant,
  eq,
  ge,
  gt,
  lt,
  max,
  min,
  ne,
  select,
  type Combine,
  type RealExpr,
} from '@mercer/formula';

type Values = readonly RealExpr[];

/** Combinations of a few values, written out. */
export const UNROLLED_COMBINE: { readonly [K in Combine]: (values: Values) => RealExpr } = {
  sum: (values) => values.reduce((sum, value) => add(sum, value)),
  max: (values) => values.reduce((best, value) => max(best, value)),
  min: (values) => values.reduce((best, value) => min(best, value)),
  argmax: (values) => firstBest(values, gt),
  argmin: (values) => firstBest(values, lt),
};

/** The number of the first best value; a NaN is better than any number. */
function firstBest(values: Values, better: typeof gt | typeof lt): RealExpr {
  let best = values[0] ?? constant(NaN);
  let place: RealExpr = constant(0);
  for (const [k, value] of values.entries()) {
    if (k === 0) continue;
    const take = (taken: RealExpr | number, other: RealExpr): RealExpr =>
      select(
        eq(best, best),
        select(ne(value, value), taken, select(better(value, best), taken, other)),
        other,
      );
    [best, place] = [take(value, best), take(k, place)];
  }
  return place;
}

/** 1 where `floor(position + 1/2)` is the component's number, else 0. */
export function oneHotOf(position: RealExpr, number: RealExpr): RealExpr {
  const shifted = add(position, 0.5);
  return select(ge(shifted, number), select(lt(shifted, add(number, 1)), 1, 0), 0);
}
