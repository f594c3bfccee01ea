import {
  ops,
  reduction,
  traitsOf,
  vi,
  vj,
  type ReductionKind,
  type VectorExpr,
} from '@mercer/formula';
import type { MapReduceCase, Place } from './map-reduce-check.test-support.js';

/** Columns of the points. */
const DIM = 4;

/** A permutation of the reduced rows that leaves no neighbour beside another: multiples of a golden step. */
const scattered = (row: number, rows: number): number => (row * goldenStep(rows)) % rows;

/** Near rows / 1.618, and without a common factor. */
function goldenStep(rows: number): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  let step = Math.max(1, Math.round(rows * 0.618));
  while (gcd(step, rows) !== 1) step++;
  return step;
}

/** Kinds that share a pass: what is exact with what is exact. */
export const EVERY_PART_GROUPS: readonly (readonly ReductionKind[])[] = [
  ['Min', 'Max', 'ArgMin', 'ArgMax', 'MinArgMin', 'MaxArgMax'],
  ['KMin', 'ArgKMin', 'KMinArgKMin'],
  ['KMax', 'ArgKMax', 'KMaxArgKMax'],
  ['Any', 'All', 'Count'],
  ['Sum', 'Mean', 'Var'],
  ['LogSumExp', 'SumSoftMaxWeight', 'MaxSumShiftExp'],
  ['Prod'],
];

/**
 * Reductions of few rows over many terms whose results change if any part of the terms is left out. The reduced rows hold
 * whole numbers in scattered order. Each of the 4 `kept` results of an extremum is in another part of them, as are the only value
 * that is not 0 of an Any and the only 0 of an All; the next neighbours of a K-min lie in other parts. Sums and products have no small
 * terms.
 */
export function everyPartCase(
  kinds: readonly ReductionKind[],
  { kept, terms, axis }: { kept: number; terms: number; axis: 0 | 1 },
): Omit<MapReduceCase, 'dtype'> {
  const [own, other] = axis === 1 ? [vi(0, DIM), vj(1, DIM)] : [vj(1, DIM), vi(0, DIM)];
  const keptPosition = axis === 1 ? 0 : 1;
  const fill = ({ position, row, component }: Place): number => {
    if (position !== keptPosition) return scattered(row, terms);
    const result = row * DIM + component;
    return scattered(Math.floor(((result + 0.5) * terms) / (kept * DIM)), terms);
  };
  const [first, ...further] = kinds.map((kind) => {
    const weight = ops.add(ops.div(other, terms), 0.5);
    return reduction(kind, formulaOf(kind, own, other, terms), {
      axis,
      ...(traitsOf(kind).takesK && { k: 3 }),
      ...((kind === 'SumSoftMaxWeight' || kind === 'MaxSumShiftExp') && { weight }),
    });
  });
  if (first === undefined) throw new RangeError('a group has a kind');
  const isExact = kinds.every((kind) => /Min|Max(?!Sum)|Any|All|Count/.test(kind));
  // a factor of a product is a division and a sum beside its multiplication; exponents are up to 8, of two roundings each
  const units = kinds.includes('Prod') ? 3 * terms : 40;
  return {
    reduction: first,
    further,
    fill,
    units: isExact ? 0 : units,
    ...(axis === 1 ? { rowsI: kept, rowsJ: terms } : { rowsI: terms, rowsJ: kept }),
  };
}

function formulaOf(
  kind: ReductionKind,
  own: VectorExpr,
  other: VectorExpr,
  terms: number,
): VectorExpr {
  const distance = ops.abs(ops.sub(own, other));
  switch (kind) {
    case 'Any':
      return ops.equal(own, other);
    case 'All':
    case 'Count':
      return ops.notEqual(own, other);
    case 'Prod':
      // from e^10 to e^20
      return ops.add(1, ops.div(distance, terms ** 2 / 40));
    case 'LogSumExp':
    case 'SumSoftMaxWeight':
    case 'MaxSumShiftExp':
      return ops.div(ops.elem(distance, 0), -terms / 8);
    default:
      return traitsOf(kind).extremum === 'largest' ? ops.neg(distance) : distance;
  }
}
