import type { ReductionKind } from '@mercer/formula';
import type { LazyTensor } from './index.js';
import type { Numbers } from './reference.test-support.js';

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
 * Few rows and those that each of them reduces, of 4 columns: whole numbers in scattered order, and of the 4 `kept` results each near
 * another of them, so that the row of its extremum is in another part. The next neighbours lie in other parts.
 */
export function everyPartData(
  kept: number,
  terms: number,
): readonly [own: Numbers, other: Numbers] {
  const numbers = (rows: number, of: (row: number, component: number) => number): Numbers => ({
    ...{ batch: [], rows, dim: DIM },
    values: Float64Array.from({ length: rows * DIM }, (_, at) =>
      of(Math.floor(at / DIM), at % DIM),
    ),
  });
  const share = terms / (kept * DIM);
  return [
    numbers(kept, (row, c) => scattered(Math.floor((row * DIM + c + 0.5) * share), terms)),
    numbers(terms, (row) => scattered(row, terms)),
  ];
}

/** A formula of {@link everyPartData} whose reduction changes if any part of the terms is left out. */
export function everyPartFormula(
  kind: ReductionKind,
  own: LazyTensor,
  other: LazyTensor,
  terms: number,
): LazyTensor {
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
      return kind.includes('Max') ? distance.neg() : distance;
  }
}
