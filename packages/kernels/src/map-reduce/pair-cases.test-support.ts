import { indexI, indexJ, ops, pm, reduction, vi, vij, vj, type VectorExpr } from '@mercer/formula';
import { specialNumber, wholeNumber, type MapReduceCase } from './map-reduce-check.test-support.js';
import { rangesFromMatrix } from './ranges/ranges.js';

type Given = Omit<MapReduceCase, 'dtype' | 'rowsI' | 'rowsJ' | 'batch'>;

const distance = ops.sqDist(vi(0, 3), vj(1, 3));
const bell = ops.exp(ops.neg(distance));
/** Weights without cancellation. */
const positive = (dim: number): VectorExpr => ops.add(ops.abs(vj(1, dim)), 0.5);
const mask = ops.greaterThan(vij(2, 1), 0);

/** Gradients by values of pairs within ranges, as dense results are computed: over i, whose rows have starts and ends of spans. */
function slopesInSpans(spans: number): Given {
  const [starts, ends] = [
    ops.extract(vi(0, 2 * spans), 0, spans),
    ops.extract(vi(0, 2 * spans), spans, spans),
  ];
  const isMet = ops.sum(ops.mul(ops.lessOrEqual(starts, indexJ), ops.lessThan(indexJ, ends)));
  const slopes = ops.where(isMet, ops.mul(vij(2, 2), vi(4, 1)), 0);
  return { reduction: reduction('Sum', slopes, { axis: 0 }), units: 0, fill: wholeNumber };
}

/** Values of pairs in formulas that are written out. */
export const PAIR_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a stored matrix times rows',
    { reduction: reduction('Sum', ops.mul(vij(0, 1), vj(1, 2))), units: 0, fill: wholeNumber },
  ],
  [
    'a stored matrix that lies by columns, times rows, over i',
    {
      reduction: reduction('Sum', ops.mul(vij(0, 1), vi(1, 2)), { axis: 0 }),
      units: 0,
      fill: wholeNumber,
      transposed: [0],
    },
  ],
  ['a masked Gaussian sum', { reduction: reduction('Sum', ops.mul(bell, mask)), units: 30 }],
  [
    'a choice by a mask over i, that all batch entries share',
    {
      reduction: reduction('Sum', ops.where(mask, bell, ops.sum(vi(0, 3))), { axis: 0 }),
      shared: [2],
      transposed: [2],
      units: 30,
    },
  ],
  [
    'the smallest values with NaN and infinities, and several more reductions',
    {
      reduction: reduction('KMinArgKMin', vij(0, 1), { k: 4 }),
      further: [
        reduction('MaxArgMax', vij(0, 1)),
        reduction('Count', ops.lessThan(vij(0, 1), vj(1, 1))),
      ],
      fill: specialNumber,
      units: 0,
    },
  ],
  [
    'the first of the largest, over i, of two matrices',
    {
      reduction: reduction('ArgMax', ops.add(vij(0, 1), vij(1, 1)), { axis: 0 }),
      fill: wholeNumber,
      transposed: [1],
      units: 0,
    },
  ],
  [
    'log-sum-exp of scores, weighted',
    {
      reduction: reduction('LogSumExp', ops.mul(3, vij(0, 1)), {
        weight: positive(1),
      }),
      units: 20,
    },
  ],
  [
    'a softmax of scores',
    { reduction: reduction('SumSoftMaxWeight', vij(0, 1), { weight: positive(3) }), units: 20 },
  ],
  [
    'components of a pair',
    { reduction: reduction('Sum', ops.mul(vij(0, 3), ops.add(vj(1, 3), vi(2, 3)))), units: 12 },
  ],
  [
    'one component of several, with parameters and row numbers',
    {
      reduction: reduction(
        'Sum',
        ops.add(ops.mul(ops.elem(vij(0, 3), 1), pm(1, 1)), ops.sub(indexI, ops.mul(2, indexJ))),
      ),
      units: 0,
      fill: wholeNumber,
    },
  ],
  [
    'many components of a pair',
    {
      reduction: reduction('Sum', ops.mul(ops.extract(vij(0, 24), 3, 7), vi(1, 1))),
      units: 0,
      fill: wholeNumber,
      transposed: [0],
    },
  ],
  [
    'a matrix of 16 bits',
    {
      reduction: reduction('Sum', ops.mul(vij(0, 1), vj(1, 1))),
      further: [reduction('Min', vij(2, 2))],
      storage: { 0: 'float16', 2: 'bfloat16' },
      units: 12,
    },
  ],
  [
    'rows that values of pairs name',
    {
      reduction: reduction('Sum', ops.mul(ops.gather(vj(1, 2), ops.abs(vij(0, 1))), vij(2, 1))),
      tables: { 1: 5 },
      units: 0,
      fill: wholeNumber,
    },
  ],
  ['slopes of pairs in one of two spans, 0 elsewhere', slopesInSpans(2)],
  [
    'mean and variance',
    {
      reduction: reduction('Mean', vij(0, 2)),
      further: [reduction('Var', vij(0, 2)), reduction('Prod', ops.add(1, ops.div(vij(0, 2), 50)))],
      units: 700,
    },
  ],
];

const RANGES = {
  ranges: rangesFromMatrix(
    [
      [1, 4],
      [10, 41],
      [41, 42],
    ],
    [
      [0, 1],
      [5, 90],
      [95, 131],
    ],
    [
      [1, 0, 1],
      [0, 1, 1],
      [1, 0, 0],
    ],
  ),
  rowsI: 45,
  rowsJ: 133,
  batch: 2,
};

/** The same over ranges: the value is that of the pair itself, whatever is left out. */
export const PAIR_RANGE_CASES: readonly (readonly [name: string, Omit<MapReduceCase, 'dtype'>])[] =
  [
    [
      'a stored matrix over ranges',
      {
        ...RANGES,
        reduction: reduction('Sum', ops.mul(vij(0, 1), vj(1, 2))),
        units: 0,
        fill: wholeNumber,
      },
    ],
    [
      'the largest over ranges, by columns',
      {
        ...RANGES,
        rowsI: 133,
        rowsJ: 45,
        reduction: reduction('MaxArgMax', vij(0, 2), { axis: 0 }),
        transposed: [0],
        units: 0,
        fill: wholeNumber,
      },
    ],
    [
      'long rows with a mask over ranges',
      {
        ...RANGES,
        reduction: reduction('Sum', ops.mul(ops.sqDist(vi(0, 50), vj(1, 50)), vij(2, 1))),
        units: 60,
      },
    ],
  ];

const far = ops.sqDist(vi(0, 45), vj(1, 45));

/** Values of pairs in formulas with loops over components. */
export const LOOPED_PAIR_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a masked sum over long rows',
    { reduction: reduction('Sum', ops.mul(ops.exp(ops.div(far, -90)), vij(2, 1))), units: 80 },
  ],
  [
    'a stored matrix times long rows',
    { reduction: reduction('Sum', ops.mul(vij(0, 1), vj(1, 70))), units: 0, fill: wholeNumber },
  ],
  [
    'a stored matrix by columns times a kernel and long rows, over i',
    {
      reduction: reduction('Sum', ops.mul(ops.mul(vij(3, 1), ops.add(far, vij(2, 1))), vi(0, 45)), {
        axis: 0,
      }),
      transposed: [3],
      units: 160,
    },
  ],
  [
    'long values of pairs and long rows',
    {
      reduction: reduction('Sum', ops.dot(vij(0, 40), vj(1, 40))),
      units: 0,
      fill: wholeNumber,
      shared: [0],
    },
  ],
  [
    'long values of pairs as columns',
    {
      reduction: reduction('Max', ops.mul(vij(0, 33), vi(1, 33)), { axis: 0 }),
      units: 0,
      fill: wholeNumber,
    },
  ],
  [
    'the nearest of long rows that a mask lets through',
    {
      reduction: reduction('KMinArgKMin', ops.where(ops.greaterThan(vij(2, 1), 0), far, Infinity), {
        k: 3,
      }),
      units: 0,
      fill: wholeNumber,
    },
  ],
  [
    'a softmax of scores, long weights',
    { reduction: reduction('SumSoftMaxWeight', vij(0, 1), { weight: positive(40) }), units: 20 },
  ],
  [
    'long rows that values of pairs name',
    {
      reduction: reduction('Sum', ops.dot(ops.gather(vj(1, 200), ops.abs(vij(0, 1))), vi(2, 200))),
      tables: { 1: 4 },
      units: 0,
      fill: wholeNumber,
    },
  ],
  ['slopes of pairs in one of 128 spans, 0 elsewhere', slopesInSpans(128)],
  [
    'a long matrix of 16 bits',
    {
      reduction: reduction('Sum', ops.dot(vij(0, 40), vj(1, 40))),
      storage: { 0: 'bfloat16', 1: 'float16' },
      units: 60,
    },
  ],
];
