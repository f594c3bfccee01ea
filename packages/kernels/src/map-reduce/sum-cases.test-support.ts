import { ops, reduction, vi, vj } from '@mercer/formula';
import { random } from '../testing/pairwise-check.test-support.js';
import { specialNumber, type MapReduceCase } from './map-reduce-check.test-support.js';
import type { KeptRanges } from './ranges/ranges.js';

type Case = Omit<MapReduceCase, 'rowsI' | 'rowsJ'>;

const product = ops.mul(vi(0, 1), vj(1, 1));
const weight = ops.add(ops.abs(vj(2, 2)), 0.5);
const exponentials = {
  reduction: reduction('LogSumExp', product, { weight }),
  further: [
    reduction('SumSoftMaxWeight', product, { weight }),
    reduction('MaxSumShiftExp', product, { weight }),
  ],
};
/** Equal terms, whose roundings add up: an error of (K / 2) u where nothing is done about it. */
const equal = {
  reduction: reduction('Sum', vj(0, 1)),
  further: [reduction('Mean', vj(0, 1))],
  units: Number.MIN_VALUE,
  fill: () => 0.1,
};
/** What compares and counts beside sums. */
const beside = {
  reduction: reduction('Sum', product),
  further: [
    reduction('MinArgMin', product),
    reduction('LogSumExp', product),
    reduction('KMaxArgKMax', product, { k: 2 }),
    reduction('Count', product),
    reduction('Max', product),
  ],
  units: 20,
};
const float32 = { dtype: 'float32' } as const;
const inFloat64 = { ...float32, accumulate: 'float64' } as const;

/**
 * Every way to add sums up, with the bound that it holds in the place of 2 sqrt K + 4: 3 u and one more for the division of
 * a mean with 'kahan', 1 u in float64 term by term, that of a tile of 256 terms in float64 by blocks, K u and the
 * division term by term.
 */
export const SUM_CASES: readonly (readonly [name: string, Case])[] = [
  ['kahan', { ...equal, ...float32, sumScheme: 'kahan', growth: () => 4 }],
  ['float64 term by term', { ...equal, ...inFloat64, sumScheme: 'direct', growth: () => 1.01 }],
  ['float64 by blocks', { ...equal, ...inFloat64, fill: random, growth: () => 2 * 16 + 4 }],
  ['term by term', { ...equal, ...float32, sumScheme: 'direct', growth: (terms) => terms + 1 }],
  ['kahan of float64', { ...equal, dtype: 'float64', sumScheme: 'kahan', fill: random }],
  ...(
    [
      ['kahan', { ...float32, sumScheme: 'kahan' }],
      ['float64 term by term', { ...inFloat64, sumScheme: 'direct' }],
      ['float64 by blocks', inFloat64],
      ['term by term', { ...float32, sumScheme: 'direct' }],
    ] as const
  ).flatMap(
    ([name, how]) =>
      [
        [`exponentials, ${name}`, { ...exponentials, ...how, units: 20 }],
        [`beside what compares, ${name}`, { ...beside, ...how }],
        [
          `exponentials of special values, ${name}`,
          { ...exponentials, ...how, units: 40, fill: specialNumber },
        ],
      ] as const,
  ),
];

/** Plans that split the reduced rows, that do not, and ranges. */
export const SUM_SIZES: readonly Omit<MapReduceCase, 'reduction' | 'dtype'>[] = [
  { rowsI: 37, rowsJ: 301 },
  { rowsI: 2, rowsJ: 6000 },
  { rowsI: 3, rowsJ: 9, batch: 2, planned: { rowsI: 2, rowsJ: 6000 } },
  { rowsI: 5, rowsJ: 0, planned: { rowsI: 37, rowsJ: 301 } },
];

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

/** Ranges with blocks of another type than the running result. */
export const SUM_RANGES = { rowsI: 8, rowsJ: 310, batch: 2, ranges } as const;
