import { ops, pm, reduction, vi, vij, vj } from '@mercer/formula';
import {
  specialNumber,
  wholeNumber,
  type MapReduceCase,
} from '../map-reduce-check.test-support.js';
import { SUM_RANGES } from '../sum-cases.test-support.js';

type Given = Omit<MapReduceCase, 'rowsI' | 'rowsJ'>;

const float32 = { dtype: 'float32' } as const;
const distance = ops.sqDist(vi(0, 150), vj(1, 150));
const difference = ops.sub(vi(0, 150), vj(1, 150));
const bell = ops.exp(ops.mul(distance, -1 / 100));
const weighted = ops.mul(bell, vj(2, 1));
const axis = { axis: 0 } as const;
/** A mean of the first components: columns beside which the others have fewer. */
const few = ops.extract(difference, 3, 33);

/** Several reductions of long vectors in one pass: of one column each, and of columns of different numbers. */
export const PAIR_TILE_MANY_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a sum and the sum of its gradients',
    {
      ...float32,
      reduction: reduction('Sum', weighted),
      further: [reduction('Sum', ops.mul(weighted, difference))],
      units: 60,
    },
  ],
  [
    'Min, MaxArgMax, the nearest 3 and Count over i',
    {
      dtype: 'float64',
      reduction: reduction('Min', distance, axis),
      further: [
        reduction('MaxArgMax', distance, axis),
        reduction('ArgKMin', distance, { ...axis, k: 3 }),
        reduction('Count', ops.lessThan(distance, 500), axis),
      ],
      units: 0,
      fill: specialNumber,
    },
  ],
  [
    'Var, ArgMin, a softmax, a mean and LogSumExp of one distance',
    {
      ...float32,
      reduction: reduction('Var', distance),
      further: [
        reduction('ArgMin', distance),
        reduction('SumSoftMaxWeight', ops.mul(distance, -1 / 64), { weight: ops.abs(vj(2, 2)) }),
        reduction('Mean', distance),
        reduction('LogSumExp', ops.mul(distance, -1 / 64)),
      ],
      units: 90,
      fill: () => wholeNumber() / 4,
    },
  ],
  [
    'columns of 150, 33 and 70 that sum, compare and weigh, and one',
    {
      ...float32,
      reduction: reduction('Sum', ops.mul(difference, vj(2, 1))),
      further: [
        reduction('KMinArgKMin', ops.abs(few), { k: 3 }),
        reduction('MaxSumShiftExp', ops.elem(difference, 0), { weight: ops.abs(vj(3, 70)) }),
        reduction('ArgMax', distance),
        reduction('All', few),
      ],
      units: 40,
      fill: wholeNumber,
    },
  ],
  [
    'distances of different lengths',
    {
      dtype: 'float64',
      reduction: reduction('LogSumExp', ops.mul(distance, -1 / 64)),
      further: [
        reduction('KMaxArgKMax', ops.sqDist(vi(2, 61), vj(3, 61)), { k: 20 }),
        reduction('Mean', ops.norm2(ops.sub(vi(2, 61), vj(3, 61)))),
      ],
      units: 60,
      fill: () => wholeNumber() / 8,
    },
  ],
  [
    'products of matrices beside their sums',
    {
      ...float32,
      reduction: reduction('Sum', ops.matVecMult(vj(1, 30 * 40), vi(0, 40))),
      further: [
        reduction('Max', ops.dot(vi(0, 40), vi(0, 40))),
        reduction('Sum', ops.abs(vi(0, 40))),
      ],
      units: 60,
    },
  ],
  [
    'compensated sums of one column and of many, and what is nearest',
    {
      ...float32,
      sumScheme: 'kahan',
      reduction: reduction('Mean', weighted),
      further: [
        reduction('Sum', ops.mul(weighted, difference)),
        reduction('MinArgMin', bell),
        reduction('LogSumExp', ops.mul(distance, -1 / 64)),
      ],
      units: 80,
      fill: () => wholeNumber() / 4,
    },
  ],
  [
    'float64 sums by blocks, of one column and of many',
    {
      ...float32,
      accumulate: 'float64',
      reduction: reduction('Sum', weighted),
      further: [
        reduction('Sum', ops.mul(weighted, difference)),
        reduction('SumSoftMaxWeight', ops.mul(distance, -1 / 64), { weight: ops.abs(vj(1, 150)) }),
      ],
      units: 80,
    },
  ],
  [
    'float64 sums by blocks of one column each',
    {
      ...float32,
      accumulate: 'float64',
      reduction: reduction('Sum', weighted),
      further: [reduction('LogSumExp', ops.mul(distance, -1 / 64)), reduction('Any', weighted)],
      units: 80,
    },
  ],
  [
    'rows by index, values of pairs and 16 bits',
    {
      ...float32,
      storage: { 0: 'bfloat16', 2: 'float16' },
      tables: { 2: 7 },
      reduction: reduction('Sum', ops.sqDist(vi(0, 150), ops.gather(pm(2, 150), vj(3, 1)))),
      further: [
        reduction('Sum', ops.mul(vi(0, 150), vij(4, 1))),
        reduction('MaxArgMax', ops.mul(vij(4, 1), ops.sum(vi(0, 150)))),
      ],
      units: 60,
      // numbers of 16 bits are not below 1: sums of any may cancel, and what is multiplied with such a sum has no digits
      fillsHalf: true,
      fill: ({ position, row, component }) => {
        if (position === 3) return row % 8;
        return position === 4 ? Math.sin(row + component) : 1 + ((row + component) % 5) / 4;
      },
    },
  ],
  [
    'ranges',
    {
      ...float32,
      reduction: reduction('Mean', weighted),
      further: [
        reduction('Sum', ops.mul(weighted, difference)),
        reduction('ArgKMin', distance, { k: 2 }),
      ],
      ranges: SUM_RANGES.ranges,
      units: 80,
      fill: () => wholeNumber() / 4,
    },
  ],
  [
    'ranges of one column each',
    {
      ...float32,
      reduction: reduction('Mean', weighted),
      further: [reduction('Sum', distance), reduction('ArgKMin', distance, { k: 2 })],
      ranges: SUM_RANGES.ranges,
      units: 80,
      fill: () => wholeNumber() / 4,
    },
  ],
];
