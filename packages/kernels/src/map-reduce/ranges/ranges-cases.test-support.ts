import { ops, reduction, traitsOf, vi, vj, type ReductionKind } from '@mercer/formula';
import {
  specialNumber,
  wholeNumber,
  type MapReduceCase,
} from '../map-reduce-check.test-support.js';
import { rangesFromMatrix, swapAxes, type KeptRanges, type RowRange } from './ranges.js';

/** Blocks of 150 rows of i and 340 of j: rows outside, ranges of one row and of many, a block row that is empty. */
const RANGES_I: readonly RowRange[] = [
  [3, 4],
  [10, 80],
  [80, 81],
  [90, 120],
  [120, 149],
];
const RANGES_J: readonly RowRange[] = [
  [0, 1],
  [5, 6],
  [6, 300],
  [302, 303],
  [330, 340],
];
const KEEP = [
  [1, 1, 0, 1, 1],
  [1, 0, 1, 0, 1],
  [0, 0, 0, 1, 0],
  [0, 0, 0, 0, 0],
  [0, 1, 1, 1, 0],
];
const BOTH = rangesFromMatrix(RANGES_I, RANGES_J, KEEP);
const NOTHING: KeptRanges = { rangesI: [], slicesI: [], redrangesJ: [] };

const difference = ops.sub(vi(0, 2), vj(1, 2));
const distance = ops.sqDist(vi(0, 2), vj(1, 2));

type Case = Omit<MapReduceCase, 'dtype'>;
const sizes = { rowsI: 150, rowsJ: 340 };
const exact = (kinds: readonly ReductionKind[], axis: 0 | 1): Omit<Case, keyof typeof sizes> => {
  const [first, ...others] = kinds.map((kind) =>
    reduction(kind, difference, { axis, ...(traitsOf(kind).takesK && { k: 3 }) }),
  );
  if (first === undefined) throw new RangeError('a case has a reduction');
  return { reduction: first, further: others, units: 0 };
};

/** Every reduction over ranges, along both axes, alone and in batches; few kernels. */
export const RANGE_CASES: readonly (readonly [name: string, Case])[] = [
  [
    'Mean, Sum and Var over j, batches, an input of 16 bits',
    {
      reduction: reduction('Mean', distance),
      ranges: BOTH,
      ...sizes,
      batch: 2,
      further: [reduction('Sum', difference), reduction('Var', distance)],
      units: 30,
      storage: { 1: 'float16' },
    },
  ],
  [
    'Mean over i',
    {
      reduction: reduction('Mean', distance, { axis: 0 }),
      ranges: swapAxes(BOTH),
      ...sizes,
      units: 30,
    },
  ],
  [
    'extrema and row numbers over j, batches that share an input',
    {
      ...exact(['MinArgMin', 'ArgMax', 'KMinArgKMin', 'Max'], 1),
      ranges: BOTH,
      ...sizes,
      batch: 3,
      shared: [1],
      fill: specialNumber,
    },
  ],
  [
    'extrema and row numbers over i',
    {
      ...exact(['ArgKMax', 'KMin', 'Min', 'MaxArgMax'], 0),
      ranges: swapAxes(BOTH),
      ...sizes,
      fill: wholeNumber,
    },
  ],
  [
    'counts over j',
    {
      ...exact(['Any', 'All', 'Count', 'Prod'], 1),
      ranges: BOTH,
      ...sizes,
      fill: () => Math.sign(wholeNumber()),
    },
  ],
  [
    'exponentials over i, batches',
    {
      reduction: reduction('LogSumExp', ops.neg(distance), { axis: 0 }),
      further: [
        reduction('SumSoftMaxWeight', ops.neg(distance), {
          axis: 0,
          weight: ops.add(ops.abs(vi(2, 2)), 0.5),
        }),
        reduction('MaxSumShiftExp', ops.neg(distance), { axis: 0 }),
      ],
      ranges: swapAxes(BOTH),
      ...sizes,
      batch: 2,
      units: 60,
    },
  ],
  ['no ranges at all', { ...exact(['Sum', 'ArgMin'], 1), ranges: NOTHING, rowsI: 40, rowsJ: 5 }],
  ['no kept rows', { ...exact(['Sum', 'ArgMin'], 1), ranges: NOTHING, rowsI: 0, rowsJ: 5 }],
];

/** Equal terms in short spans, whose roundings add up where each span is summed on its own: (K / 2) u, not sqrt K. */
export const SHORT_SPANS: Case = {
  reduction: reduction('Sum', vj(0, 1)),
  rowsI: 2,
  rowsJ: 60_000,
  units: Number.MIN_VALUE,
  fill: () => 0.1,
  ranges: {
    rangesI: [[0, 2]],
    slicesI: [20_000],
    redrangesJ: Array.from({ length: 20_000 }, (_, n) => [3 * n, 3 * n + 1] as const),
  },
};
