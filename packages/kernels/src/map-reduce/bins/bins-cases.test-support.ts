import { indexJ, ops, pm, reduction, vi, vij, vj, type VectorExpr } from '@mercer/formula';
import { random } from '../../testing/pairwise-check.test-support.js';
import type { MapReduceCase, Place } from '../map-reduce-check.test-support.js';
import type { KeptRanges } from '../ranges/ranges.js';

/** Components of sums on a CPU: more than are added up in registers. */
export const BINS = 83;

const float32 = { dtype: 'float32' } as const;
const place = ops.add(vi(0, 1), vj(1, 1));

/** Whole numbers at positions below 2, so that places are exact: some lie outside, and some are no numbers. */
function fill({ position, row }: Place): number {
  if (position > 1) return random() - 0.25;
  if (row % 17 === 5) return [NaN, Infinity, -Infinity][row % 3] ?? NaN;
  return Math.floor(random() * 60) - 5;
}

const ranges: KeptRanges = {
  rangesI: [
    [1, 5],
    [5, 6],
  ],
  slicesI: [2, 3],
  redrangesJ: [
    [0, 1],
    [3, 300],
    [10, 11],
  ],
};

/** Sums whose components rest in memory, with the bounds of compensated sums: one rounding of the result, and one of a term. */
export const binsCases = (bins: number): readonly (readonly [name: string, MapReduceCase])[] => {
  const weighted = (weight: VectorExpr | number, at: VectorExpr = place): VectorExpr =>
    ops.where(ops.oneHot(at, bins), weight, 0);
  return (
    [
      ['counts', { reduction: reduction('Sum', ops.oneHot(place, bins)), units: 0 }],
      ['weights', { reduction: reduction('Sum', weighted(ops.mul(vj(2, 1), vi(3, 1)))) }],
      ['weights of float64', { reduction: reduction('Sum', weighted(vj(2, 1))), dtype: 'float64' }],
      ['sums over i', { reduction: reduction('Sum', weighted(vj(2, 1)), { axis: 0 }) }],
      ['few rows, so that parts are merged', { rowsI: 2, rowsJ: 6000, batch: 2 }],
      ['few rows of float64', { rowsI: 2, rowsJ: 6000, dtype: 'float64' }],
      ['parts with no rows', { rowsI: 3, rowsJ: 9, planned: { rowsI: 2, rowsJ: 6000 } }],
      ['no rows at all', { rowsJ: 0 }],
      ['ranges', { rowsI: 8, rowsJ: 310, batch: 2, ranges }],
      ['float64 sums', { accumulate: 'float64' }],
      ['float64 sums in parts', { accumulate: 'float64', rowsI: 2, rowsJ: 6000 }],
      ['sums term by term', { sumScheme: 'direct', growth: (terms: number) => terms + 1 }],
      [
        'rows by index',
        { reduction: reduction('Sum', weighted(ops.gather(pm(2, 1), indexJ))), tables: { 2: 70 } },
      ],
      ['values of pairs', { reduction: reduction('Sum', weighted(vij(2, 1))) }],
      ['16-bit weights', { storage: { 2: 'bfloat16' } }],
    ] as const
  ).map(([name, one]) => [
    name,
    {
      reduction: reduction('Sum', weighted(vj(2, 1))),
      rowsI: 37,
      rowsJ: 301,
      fill,
      growth: () => 2,
      units: 8,
      ...float32,
      ...one,
    },
  ]);
};
