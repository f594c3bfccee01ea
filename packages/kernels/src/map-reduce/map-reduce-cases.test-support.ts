import {
  indexI,
  indexJ,
  ops,
  pm,
  reduction,
  vi,
  vj,
  type ReductionKind,
  type VectorExpr,
} from '@mercer/formula';
import { random } from '../testing/pairwise-check.test-support.js';
import { specialNumber, wholeNumber, type MapReduceCase } from './map-reduce-check.test-support.js';

/** Gaussian sums with a weight for every j. */
export const gaussian = (dim: number): VectorExpr =>
  ops.mul(ops.exp(ops.neg(ops.sqDist(vi(0, dim), vj(1, dim)))), vj(2, 1));

type Sized = Pick<MapReduceCase, 'rowsI' | 'rowsJ' | 'batch'>;
type Given = Omit<MapReduceCase, 'dtype' | keyof Sized>;

/** Sizes with 0 and 1, and that are no multiples of tiles. */
export const SIZES: readonly Sized[] = [
  { rowsI: 37, rowsJ: 301 },
  { rowsI: 0, rowsJ: 5 },
  { rowsI: 5, rowsJ: 0 },
  { rowsI: 1, rowsJ: 1 },
  { rowsI: 3, rowsJ: 7, batch: 3 },
  { rowsI: 600, rowsJ: 5 },
];

const difference = ops.sub(vi(0, 2), vj(1, 2));
const product = ops.mul(vi(0, 1), vj(1, 1));
const weight = ops.add(ops.abs(vj(2, 2)), 0.5);
const near1 = (): number => 0.95 + random() / 10;

const whole = (kind: ReductionKind, k?: number): Given => ({
  reduction: reduction(kind, difference, k === undefined ? {} : { k }),
  units: 0,
  fill: wholeNumber,
});
const special = (kind: ReductionKind, k?: number): Given => ({
  ...whole(kind, k),
  fill: specialNumber,
});

/** Every reduction: on whole numbers with many ties, and with NaN and infinities. */
export const KIND_CASES: readonly (readonly [name: string, Given])[] = [
  ...(['Sum', 'Count', 'Any', 'All', 'MinArgMin', 'MaxArgMax'] as const).flatMap((kind) => [
    [`${kind} of whole numbers`, whole(kind)] as const,
    [`${kind} with NaN and infinities`, special(kind)] as const,
  ]),
  ...(['Min', 'Max', 'ArgMin', 'ArgMax'] as const).map(
    (kind) => [`${kind} with NaN and infinities`, special(kind)] as const,
  ),
  ...(
    [
      ['KMin', 1],
      ['ArgKMin', 3],
      ['KMinArgKMin', 8],
      ['KMax', 2],
      ['ArgKMax', 5],
      ['KMaxArgKMax', 4],
    ] as const
  ).map(([kind, k]) => [`${kind} ${k} with NaN and infinities`, special(kind, k)] as const),
  ['Mean', { reduction: reduction('Mean', difference) }],
  ['Var', { reduction: reduction('Var', difference), units: 20 }],
  ['Var with NaN and infinities', { ...special('Var'), units: 20 }],
  // the condition is mean / deviation, 1700 here; the mean of squares less the squared mean has its square
  [
    'Var far from 0',
    { reduction: reduction('Var', vj(1, 2)), units: 4000, fill: () => 1000 + 2 * random() },
  ],
  ['Prod', { reduction: reduction('Prod', product), fill: near1, units: 700 }],
  ['LogSumExp', { reduction: reduction('LogSumExp', product), units: 20 }],
  [
    'LogSumExp of special values',
    { reduction: reduction('LogSumExp', product), units: 40, fill: specialNumber },
  ],
  ['LogSumExp, weighted', { reduction: reduction('LogSumExp', product, { weight }), units: 20 }],
  [
    'LogSumExp of a negative total',
    { reduction: reduction('LogSumExp', product, { weight: -1 }), units: 0 },
  ],
  [
    'LogSumExp of large numbers',
    { reduction: reduction('LogSumExp', ops.mul(product, 1000)), units: 4000 },
  ],
  [
    'SumSoftMaxWeight',
    { reduction: reduction('SumSoftMaxWeight', product, { weight }), units: 20 },
  ],
  ['MaxSumShiftExp', { reduction: reduction('MaxSumShiftExp', product, { weight }), units: 20 }],
];

const [x, y, p] = [vi(0, 3), vj(1, 3), pm(2, 2)];
const scaled = ops.mul(
  ops.elem(p, 1),
  ops.exp(ops.neg(ops.mul(ops.abs(ops.elem(p, 0)), ops.norm2(ops.sub(x, y))))),
);

/** Equal terms, whose roundings add up in one running sum: (K / 2) u there, not sqrt K. */
export const EQUAL_TERMS: Given & Sized = {
  reduction: reduction('Sum', vj(0, 1)),
  rowsI: 2,
  rowsJ: 50_000,
  units: Number.MIN_VALUE,
  fill: () => 0.1,
};

const distance = ops.sqDist(vi(0, 3), vj(1, 3));
const bell = ops.exp(ops.neg(distance));

/** Several reductions in one pass: sums with sums, what rounds with what does not, row numbers, weights. */
export const MANY_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a sum and the sum of its gradients',
    {
      reduction: reduction('Sum', ops.mul(bell, vj(2, 1))),
      further: [reduction('Sum', ops.mul(ops.mul(bell, vj(2, 1)), ops.sub(vj(1, 3), vi(0, 3))))],
      units: 30,
    },
  ],
  [
    'Min, MaxArgMax, the nearest 3 and Count over i',
    {
      reduction: reduction('Min', difference, { axis: 0 }),
      further: [
        reduction('MaxArgMax', difference, { axis: 0 }),
        reduction('ArgKMin', difference, { axis: 0, k: 3 }),
        reduction('Count', ops.lessThan(difference, 1), { axis: 0 }),
      ],
      units: 0,
      fill: specialNumber,
    },
  ],
  [
    'Var, ArgMin, a softmax and a mean',
    {
      reduction: reduction('Var', distance),
      further: [
        reduction('ArgMin', distance),
        reduction('SumSoftMaxWeight', ops.neg(distance), { weight }),
        reduction('Mean', distance),
      ],
      units: 40,
    },
  ],
];

/** Inputs of 16 bits, all and mixed; exact results, so that a wrong bit shows. */
export const HALF_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'sums of float16 and bfloat16',
    {
      reduction: reduction(
        'Sum',
        ops.mul(ops.add(vi(0, 2), pm(3, 1)), ops.mul(vj(1, 2), vj(2, 1))),
      ),
      storage: { 0: 'float16', 1: 'bfloat16', 3: 'float16' },
      units: 12,
    },
  ],
  [
    'extrema of bfloat16 over i',
    {
      reduction: reduction('MinArgMin', vi(0, 2), { axis: 0 }),
      further: [reduction('Max', vj(1, 1), { axis: 0 })],
      storage: { 0: 'bfloat16', 1: 'float16' },
      units: 0,
    },
  ],
];

const nearestRow = ops.mul(vi(0, 1), 3);

/** Rows by index: of tables of every category, with rows that are not there, one by another, 16-bit tables. */
export const GATHER_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a table by the value of a row',
    {
      reduction: reduction('Sum', ops.mul(ops.gather(vj(1, 2), vi(0, 1)), vj(2, 1))),
      tables: { 1: 4 },
      units: 0,
      fill: wholeNumber,
    },
  ],
  [
    'a row of i by j, beside the row itself',
    {
      reduction: reduction(
        'KMaxArgKMax',
        ops.sub(ops.gather(vi(0, 1), ops.mul(indexJ, 3)), vi(0, 1)),
        { k: 2 },
      ),
      tables: { 0: 600 },
      units: 0,
      fill: wholeNumber,
    },
  ],
  [
    'a row by a row by index, over i',
    {
      reduction: reduction('Min', ops.gather(pm(2, 3), ops.gather(vj(1, 1), nearestRow)), {
        axis: 0,
      }),
      tables: { 1: 5, 2: 3 },
      units: 0,
      fill: () => wholeNumber() / 2,
    },
  ],
  [
    'a table of 16 bits',
    {
      reduction: reduction('Sum', ops.gather(vj(1, 2), ops.abs(vi(0, 1)))),
      tables: { 1: 9 },
      storage: { 1: 'float16' },
      fill: wholeNumber,
    },
  ],
];

/** Parameters, row numbers, the other axis, batches that share an input, choices, literals alone. */
export const FORM_CASES: readonly (readonly [name: string, Given])[] = [
  ['parameters', { reduction: reduction('Sum', scaled), units: 60 }],
  [
    'over i, with an input that all batch entries share',
    { reduction: reduction('Sum', scaled, { axis: 0 }), units: 60, shared: [1] },
  ],
  ['row numbers', { reduction: reduction('Sum', ops.sub(ops.mul(indexI, 2), indexJ)), units: 0 }],
  [
    'the nearest row but the own one',
    {
      reduction: reduction(
        'ArgMin',
        ops.add(ops.sqDist(x, y), ops.mul(1000, ops.equal(indexI, indexJ))),
      ),
      units: 0,
      fill: wholeNumber,
    },
  ],
  ['a literal', { reduction: reduction('Sum', 2), units: 0 }],
  [
    'over i, the largest',
    { reduction: reduction('ArgMax', difference, { axis: 0 }), fill: specialNumber },
  ],
  [
    'choices',
    {
      reduction: reduction(
        'Sum',
        ops.ifElse(vi(0, 2), ops.relu(vj(1, 2)), ops.step(ops.sub(vi(0, 2), vj(1, 2)))),
      ),
      units: 0,
      fill: wholeNumber,
    },
  ],
];
