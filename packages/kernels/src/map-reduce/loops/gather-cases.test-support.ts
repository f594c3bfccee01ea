import { indexI, ops, pm, reduction, vi, vj } from '@mercer/formula';
import { random } from '../../testing/pairwise-check.test-support.js';
import { wholeNumber, type MapReduceCase } from '../map-reduce-check.test-support.js';
import { rangesFromMatrix } from '../ranges/ranges.js';

type Given = Omit<MapReduceCase, 'dtype'>;

/** Quarters from -3 to 3.75: halves are rounded up, some rows are not there, and sums of squares are exact. */
const quarter = (): number => Math.floor(random() * 28) / 4 - 3;

const x = vi(0, 150);
const few = { rowsI: 19, rowsJ: 13 } as const;
const batches = { rowsI: 3, rowsJ: 7, batch: 2 } as const;
const wholes = { fill: wholeNumber, units: 0 } as const;
const there = ops.abs(vj(2, 1));

/**
 * Rows by index in formulas of long vectors: tables of every category, numbers that one side, both or an inner sum decide, one row by
 * another, rows that are not there, beside the current row, in columns, in sums of columns, in weights, of 16 bits, over
 * ranges.
 */
export const PAIR_TILE_GATHER_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'a table of parameters by j',
    {
      reduction: reduction('Sum', ops.sqDist(x, ops.gather(pm(1, 150), there))),
      tables: { 1: 4 },
      ...wholes,
      ...few,
    },
  ],
  [
    'rows that are not there, numbers that are rounded',
    {
      reduction: reduction('Sum', ops.sqDist(vj(0, 150), ops.gather(pm(1, 150), vi(2, 1)))),
      tables: { 1: 3 },
      fill: quarter,
      units: 0,
      ...batches,
    },
  ],
  [
    'a column of a table of j by i, over i',
    {
      reduction: reduction(
        'Sum',
        ops.mul(ops.sqDist(x, vj(1, 150)), ops.gather(vj(3, 70), ops.abs(vi(2, 1)))),
        { axis: 0 },
      ),
      tables: { 3: 4 },
      ...wholes,
      ...few,
    },
  ],
  [
    'a number of both rows, from a loop',
    {
      reduction: reduction('Sum', ops.gather(pm(2, 140), ops.argMin(ops.sub(x, vj(1, 150))))),
      tables: { 2: 150 },
      ...wholes,
      ...batches,
    },
  ],
  [
    'a row by a row by index, a long sum of both',
    {
      reduction: reduction(
        'MaxArgMax',
        ops.dot(ops.gather(vj(1, 150), ops.abs(ops.gather(pm(3, 1), there))), x),
      ),
      tables: { 1: 4, 3: 4 },
      ...wholes,
      ...few,
    },
  ],
  [
    'the row before the own one',
    {
      reduction: reduction('Count', ops.sub(ops.gather(x, ops.sub(indexI, 1)), x), { axis: 1 }),
      tables: { 0: 19 },
      ...wholes,
      ...few,
    },
  ],
  [
    'a matrix by index, times a vector',
    {
      reduction: reduction('Sum', ops.matVecMult(ops.gather(vj(1, 20 * 30), there), vi(0, 30))),
      tables: { 1: 4 },
      ...wholes,
      ...batches,
    },
  ],
  [
    'a weight by index',
    {
      reduction: reduction('SumSoftMaxWeight', ops.div(ops.sqDist(x, vj(1, 150)), -1200), {
        weight: ops.gather(vj(3, 70), ops.abs(vi(2, 1))),
      }),
      tables: { 3: 4 },
      fill: wholeNumber,
      units: 60,
      ...few,
    },
  ],
  [
    'a table of 16 bits by numbers of 16 bits',
    {
      reduction: reduction(
        'Sum',
        ops.mul(
          ops.gather(vj(1, 70), ops.mul(2, there)),
          ops.dot(ops.gather(vj(1, 70), there), vi(0, 70)),
        ),
      ),
      tables: { 1: 5 },
      storage: { 1: 'float16', 2: 'bfloat16' },
      units: 60,
      ...few,
    },
  ],
  [
    'a row of a fixed number, and a table without rows',
    {
      reduction: reduction(
        'Sum',
        ops.concat(
          ops.sqDist(x, ops.gather(pm(1, 150), 2)),
          ops.dot(x, ops.gather(vj(3, 150), there)),
        ),
      ),
      tables: { 1: 3, 3: 0 },
      ...wholes,
      ...batches,
    },
  ],
  [
    'ranges, the three nearest of rows of a table',
    {
      reduction: reduction(
        'KMinArgKMin',
        ops.sqDist(x, ops.gather(pm(1, 150), ops.sub(3, there))),
        { k: 3 },
      ),
      ranges: rangesFromMatrix(
        [
          [3, 20],
          [30, 32],
        ],
        [
          [5, 40],
          [41, 60],
        ],
        [
          [1, 1],
          [0, 1],
        ],
      ),
      tables: { 1: 4 },
      ...wholes,
      rowsI: 35,
      rowsJ: 61,
    },
  ],
];
