import { ops, reduction, vi, vj } from '@mercer/formula';
import { random } from '../../testing/pairwise-check.test-support.js';
import { specialNumber, type MapReduceCase } from '../map-reduce-check.test-support.js';

type Given = Omit<MapReduceCase, 'rowsI' | 'rowsJ'>;

/** Of long vectors, but with one component of each in a term: the errors are those of the sums over rows. */
const [long, other] = [vi(1, 150), vj(0, 150)];
const product = ops.mul(ops.elem(long, 3), ops.elem(other, 7));
const weight = ops.add(ops.abs(vj(2, 9)), 0.5);

/** Equal terms, whose roundings add up: an error of (K / 2) u where nothing is done about it. */
const equal = { units: Number.MIN_VALUE, fill: () => 0.1 };
const float32 = { dtype: 'float32' } as const;
const inFloat64 = { ...float32, accumulate: 'float64' } as const;

/** Ways to add up, with the bounds in units that `SUM_CASES` of short formulas names. */
const WAYS = [
  ['kahan', { ...float32, sumScheme: 'kahan' }, { ...equal, growth: () => 4 }],
  ['float64 term by term', { ...inFloat64, sumScheme: 'direct' }, { ...equal, growth: () => 1.01 }],
  ['float64 by blocks', inFloat64, { ...equal, fill: random, growth: () => 2 * 16 + 4 }],
  [
    'term by term',
    { ...float32, sumScheme: 'direct' },
    { ...equal, growth: (terms: number) => terms + 1 },
  ],
] as const;

/** Sums and means of one column and of many, sums of exponentials, on equal terms and with NaN and infinities. */
export const PAIR_TILE_SUM_CASES: readonly (readonly [name: string, Given])[] = [
  ...WAYS.flatMap(([name, how, bound]): (readonly [string, Given])[] => [
    [
      `a sum, ${name}`,
      { reduction: reduction('Sum', ops.add(ops.elem(other, 7), 0)), ...how, ...bound },
    ],
    [`means of columns, ${name}`, { reduction: reduction('Mean', other), ...how, ...bound }],
    [
      `an exponential, ${name}`,
      { reduction: reduction('LogSumExp', product), ...how, units: 40, fill: specialNumber },
    ],
    [
      `weighted columns, ${name}`,
      { reduction: reduction('SumSoftMaxWeight', product, { weight }), ...how, units: 40 },
    ],
  ]),
  [
    'a largest and columns, float64 by blocks',
    { reduction: reduction('MaxSumShiftExp', product, { weight }), ...inFloat64, units: 40 },
  ],
  [
    'kahan of float64',
    { reduction: reduction('Sum', other), dtype: 'float64', sumScheme: 'kahan', fill: random },
  ],
];

/** Of plans that split the reduced rows where they can; no rows at all. */
export const PAIR_TILE_SUM_SIZES: readonly Omit<MapReduceCase, 'reduction' | 'dtype'>[] = [
  { rowsI: 2, rowsJ: 3000 },
  { rowsI: 3, rowsJ: 9, batch: 2, planned: { rowsI: 2, rowsJ: 3000 } },
  { rowsI: 5, rowsJ: 0, planned: { rowsI: 2, rowsJ: 3000 } },
];
