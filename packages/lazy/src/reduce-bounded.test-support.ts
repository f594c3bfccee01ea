import type { ReductionKind } from '@mercer/formula';
import {
  exponential,
  product,
  rounded,
  sumGrowth,
  sumOf,
  type Bounded,
  type BoundedNumber,
} from './bounded.test-support.js';

/** One row of results of a reduction, and what may be off. */
export interface ReducedRow {
  readonly value?: readonly BoundedNumber[];
  readonly index?: readonly number[];
  /** The rows of the reduced side in the order of each component's values, where equals and what is off may change places. */
  readonly ranked?: readonly RankedComponent[];
}

/** The terms of a component; `best` in the order of ranks. */
export interface RankedComponent {
  readonly terms: readonly BoundedNumber[];
  readonly best: readonly number[];
}

const NOTHING: BoundedNumber = { value: NaN, error: 0 };

/** A reduction of terms by loops: each a formula's components and a weight's, in the order of the rows. */
export function reduceTerms(
  kind: ReductionKind,
  k: number,
  terms: readonly { readonly formula: Bounded; readonly weight: Bounded | undefined }[],
  {
    dim,
    weightDim,
    unit,
  }: { readonly dim: number; readonly weightDim: number; readonly unit: number },
): ReducedRow {
  const of = (c: number): BoundedNumber[] =>
    terms.map(({ formula }) => formula.parts[c] ?? NOTHING);
  const weights = (c: number): BoundedNumber[] =>
    terms.map(({ weight }) => (weight ? (weight.parts[c] ?? NOTHING) : { value: 1, error: 0 }));
  const components = Array.from({ length: dim }, (_, c) => c);
  const each = (reduce: (column: BoundedNumber[]) => BoundedNumber): ReducedRow => ({
    value: components.map((c) => reduce(of(c))),
  });
  const ofWeights = (reduce: (column: BoundedNumber[]) => BoundedNumber): BoundedNumber[] =>
    Array.from({ length: weightDim }, (_, c) => reduce(weights(c)));
  switch (kind) {
    case 'Sum':
      return each((column) => sumOf(column, unit));
    case 'Mean':
      return each((column) => meanOf(column, unit));
    case 'Var':
      return each((column) => varianceOf(column, unit));
    case 'Prod':
      return each((column) =>
        column.reduce((all, one) => product(all, one, unit), { value: 1, error: 0 }),
      );
    case 'Any':
    case 'All':
    case 'Count':
      return each((column) => countOf(kind, column));
    case 'LogSumExp':
      return { value: ofWeights((column) => logSumExp(of(0), column, unit)) };
    case 'SumSoftMaxWeight':
      return {
        value: ofWeights((column) => {
          const top = largest(of(0));
          const above = shiftedSum(of(0), column, top, unit);
          const below = shiftedSum(of(0), undefined, top, unit);
          const value = above.value / below.value;
          const least = below.value - below.error;
          return rounded(value, (above.error + Math.abs(value) * below.error) / least, unit, 2);
        }),
      };
    case 'MaxSumShiftExp': {
      const top = largest(of(0));
      return { value: [top, ...ofWeights((column) => shiftedSum(of(0), column, top, unit))] };
    }
    default:
      return ranked(kind, kind.includes('K') ? k : 1, components.map(of));
  }
}

function meanOf(column: readonly BoundedNumber[], unit: number): BoundedNumber {
  const { value, error } = sumOf(column, unit);
  return rounded(value / column.length, error / column.length, unit, 2);
}

/** Squared distances from the mean, each off by what the number and the mean are. */
function varianceOf(column: readonly BoundedNumber[], unit: number): BoundedNumber {
  const count = column.length;
  const total = column.reduce((sum, { value }) => sum + value, 0);
  const size = column.reduce((sum, { value }) => sum + Math.abs(value), 0);
  const own = column.reduce((sum, { error }) => sum + error, 0);
  const mean = total / count;
  const offMean = (own + sumGrowth(count) * unit * size) / count;
  let [value, error] = [0, 0];
  for (const one of column) {
    const distance = Math.abs(one.value - mean);
    // the difference is rounded relative to what is subtracted
    const off = one.error + offMean + unit * (Math.abs(one.value) + Math.abs(mean));
    value += distance ** 2;
    error += 2 * distance * off + off ** 2;
  }
  return rounded(value / count, error / count, unit, sumGrowth(count) + 4);
}

function countOf(kind: 'Any' | 'All' | 'Count', column: readonly BoundedNumber[]): BoundedNumber {
  const open = column.filter(({ value, error }) => error > 0 && Math.abs(value) <= error).length;
  const there = column.filter(({ value }) => value !== 0).length;
  const sure = column.filter(({ value, error }) => Math.abs(value) > error).length;
  if (kind === 'Count') return { value: there, error: open };
  if (kind === 'Any') return { value: there > 0 ? 1 : 0, error: sure === 0 && open > 0 ? 1 : 0 };
  const isAll = there === column.length;
  return { value: isAll ? 1 : 0, error: sure + open === column.length && open > 0 ? 1 : 0 };
}

/** The largest of numbers: off by no more than one that may be the largest. */
function largest(column: readonly BoundedNumber[]): BoundedNumber {
  const greatest = (of: (one: BoundedNumber) => number, least: number): number =>
    column.reduce((most, one) => Math.max(most, of(one)), least);
  const surely = greatest((one) => one.value - one.error, -Infinity);
  const error = greatest((one) => (one.value + one.error >= surely ? one.error : 0), 0);
  return { value: greatest((one) => one.value, -Infinity), error };
}

/** The sum of weighted exponentials of what lies below the top. The top's own error is in both and cancels but for roundings. */
function shiftedSum(
  column: readonly BoundedNumber[],
  weights: readonly BoundedNumber[] | undefined,
  top: BoundedNumber,
  unit: number,
): BoundedNumber {
  if (column.length === 0) return { value: 0, error: 0 };
  return sumOf(
    column.map(({ value, error }, n) => {
      const below = rounded(value - top.value, error + top.error, unit);
      const one = exponential(below, unit);
      const weight = weights?.[n];
      return weight ? product(one, weight, unit) : one;
    }),
    unit,
  );
}

function logSumExp(
  column: readonly BoundedNumber[],
  weights: readonly BoundedNumber[],
  unit: number,
): BoundedNumber {
  if (column.length === 0) return { value: -Infinity, error: 0 };
  const top = largest(column);
  const sum = shiftedSum(column, weights, { value: top.value, error: 0 }, unit);
  const log = rounded(Math.log(sum.value), sum.error / (sum.value - sum.error), unit, 4);
  return rounded(top.value + log.value, top.error + log.error, unit);
}

/** The first `k` rows of each component: the smallest or largest, the first of equals first. */
function ranked(
  kind: ReductionKind,
  k: number,
  columns: readonly (readonly BoundedNumber[])[],
): ReducedRow {
  const sign = kind.includes('Max') ? -1 : 1;
  const components = columns.map((terms): RankedComponent => {
    const order = terms
      .map((_, row) => row)
      .sort((a, b) => sign * (terms[a]!.value - terms[b]!.value) || a - b);
    return { terms, best: order.slice(0, k) };
  });
  const ranks = Array.from({ length: k }, (_, rank) => rank);
  const widest = columns.map((terms) =>
    terms.reduce((most, { error }) => Math.max(most, error), 0),
  );
  const value = ranks.flatMap((rank) =>
    components.map(({ terms, best }, c) => {
      const term = terms[best[rank] ?? -1];
      return { value: term?.value ?? sign * Infinity, error: term ? widest[c]! : 0 };
    }),
  );
  const index = ranks.flatMap((rank) => components.map(({ best }) => best[rank] ?? -1));
  return {
    ...(!kind.startsWith('Arg') && { value }),
    ...(kind.includes('Arg') && { index, ranked: components }),
  };
}
