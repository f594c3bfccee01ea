import { indexI, indexJ, ops, vi, vij, vj, type VectorExpr } from '@mercer/formula';
import type { KeptRanges } from '../ranges/ranges.js';

/** Points whose squared distance is at most 4. */
export const NEAR: VectorExpr = ops.lessOrEqual(ops.sqDist(vi(0, 2), vj(1, 2)), 4);

/** What is written for a pair. */
export const OFFSET: VectorExpr = ops.sub(vj(1, 2), vi(0, 2));

/** The name of a case, and what is selected. */
export const SELECTIONS: readonly (readonly [
  string,
  { readonly mask: VectorExpr; readonly values?: VectorExpr; readonly axis?: 0 | 1 },
])[] = [
  ['neighbours', { mask: NEAR }],
  ['neighbours with their offsets', { mask: NEAR, values: OFFSET }],
  ['neighbours of every j', { mask: NEAR, values: ops.sqDist(vi(0, 2), vj(1, 2)), axis: 0 }],
  ['row numbers', { mask: ops.lessThan(indexI, indexJ), values: vj(0, 1) }],
  ['every pair', { mask: ops.add(ops.square(vi(0, 1)), 1) }],
  [
    'values of pairs, beside other values of pairs',
    { mask: ops.lessThan(vij(0, 1), 0), values: ops.mul(vij(1, 2), vj(2, 2)) },
  ],
  ['none', { mask: ops.mul(vi(0, 1), 0), values: vi(0, 1) }],
];

const long = ops.sqDist(vi(0, 150), vj(1, 150));
const NEAR_IN_LONG = ops.lessOrEqual(long, 1150);

/** Distances and some offsets. */
export const LONG_WITH_VALUES = {
  mask: NEAR_IN_LONG,
  values: ops.concat(long, ops.extract(ops.sub(vj(1, 150), vi(0, 150)), 140, 3)),
};

/** Selections whose formulas are too long to be written out. */
export const LONG_SELECTIONS: typeof SELECTIONS = [
  ['neighbours', { mask: NEAR_IN_LONG }],
  ['neighbours with distances and offsets', LONG_WITH_VALUES],
  ['neighbours of every j', { mask: NEAR_IN_LONG, values: indexI, axis: 0 }],
  ['every pair', { mask: ops.add(long, 1) }],
  ['none', { mask: ops.lessThan(long, -1), values: long }],
];

/** Two ranges of rows that see some rows of the other side. */
export const RANGES: KeptRanges = {
  rangesI: [
    [2, 9],
    [15, 22],
  ],
  slicesI: [2, 3],
  redrangesJ: [
    [1, 4],
    [9, 33],
    [30, 40],
  ],
};
