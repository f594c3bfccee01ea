import { traitsOf, type ReductionKind } from '@mercer/formula';
import type { Algebra } from './bounded.test-support.js';
import type { LazyAxis } from './index.js';
import type { Meaning, Numbers } from './reference.test-support.js';

const DIM = 4;

/** A permutation of the reduced rows that leaves no neighbour beside another: multiples of a step near rows / 1.618. */
const scattered = (row: number, rows: number): number => (row * goldenStep(rows)) % rows;

function goldenStep(rows: number): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  let step = Math.round(rows * 0.618);
  while (gcd(step, rows) !== 1) step++;
  return step;
}

/**
 * A reduction of few rows over many terms whose results change if any part of the terms is left out. The reduced rows are whole
 * numbers in scattered order, of 4 columns. Each of the 4 `kept` results is near another of them, so that the rows of extrema, the only
 * value that is not 0 of an Any and the only 0 of an All are each in another part; the next neighbours lie in others. Sums and
 * products have no small terms.
 */
export function everyPartMeaning(
  kind: ReductionKind,
  axis: LazyAxis,
  { kept, terms }: { readonly kept: number; readonly terms: number },
): Meaning {
  const numbers = (rows: number, of: (row: number, component: number) => number): Numbers => ({
    batch: [],
    rows,
    dim: DIM,
    values: Float64Array.from({ length: rows * DIM }, (_, at) =>
      of(Math.floor(at / DIM), at % DIM),
    ),
  });
  const share = terms / (kept * DIM);
  const own = numbers(kept, (row, c) =>
    scattered(Math.floor((row * DIM + c + 0.5) * share), terms),
  );
  const other = numbers(terms, (row) => scattered(row, terms));
  const [ownSide, otherSide] = axis === 'j' ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const isWeighted = kind === 'SumSoftMaxWeight' || kind === 'MaxSumShiftExp';
  return {
    kind,
    axis,
    ...(traitsOf(kind).takesK && { k: 3 }),
    variables: [
      { data: own, side: ownSide },
      { data: other, side: otherSide },
    ],
    formula: formulaOf(kind, terms),
    ...(isWeighted && { weight: (_own, many) => many.div(terms).add(0.5) }),
  };
}

const formulaOf =
  (kind: ReductionKind, terms: number) =>
  <T extends Algebra<T>>(own: T, other: T): T => {
    const distance = own.sub(other).abs();
    switch (kind) {
      case 'Any':
        return own.eq(other);
      case 'All':
      case 'Count':
        return own.ne(other);
      case 'Prod':
        // from e^10 to e^20
        return distance.div(terms ** 2 / 40).add(1);
      case 'LogSumExp':
      case 'SumSoftMaxWeight':
      case 'MaxSumShiftExp':
        return distance.elem(0).div(-terms / 8);
      default:
        return traitsOf(kind).extremum === 'largest' ? distance.neg() : distance;
    }
  };
