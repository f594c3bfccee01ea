import { ops, pm, reduction, vi, vj, type Reduction } from '@mercer/formula';
import type { MapReduceProblem } from '../problem.js';

const distance = (dim: number) => ops.sqDist(vi(0, dim), vj(1, dim));
const gaussian = (dim: number) => ops.exp(ops.neg(ops.mul(pm(3, 1), distance(dim))));
const dot = ops.dot(vi(0, 300), vj(1, 300));

/** Long points, alone and with columns: the inner sums run in tiles. */
const LONG: readonly Reduction[] = [
  reduction('Sum', ops.mul(gaussian(1000), vj(2, 1))),
  reduction('Sum', ops.mul(gaussian(256), ops.sub(vi(0, 256), vj(1, 256)))),
  reduction('LogSumExp', dot),
  reduction('SumSoftMaxWeight', dot, { weight: vj(2, 64) }),
  reduction('KMinArgKMin', distance(146), { k: 10 }),
];

/** Many columns, compared one by one too, and sums inside of columns. */
const COLUMNS: readonly Reduction[] = [
  reduction('Sum', ops.mul(gaussian(3), vj(2, 300))),
  reduction('ArgMin', ops.sub(vi(0, 990), vj(1, 990)), { axis: 0 }),
  reduction('KMin', ops.abs(ops.sub(vi(0, 24_705), vj(1, 24_705))), { k: 1 }),
  reduction('Sum', ops.matVecMult(vj(1, 64 * 32), vi(0, 32))),
];

/** Rows by index: of one column with tables of every category, and as columns. */
const BY_INDEX: readonly Reduction[] = [
  reduction('Sum', ops.exp(ops.neg(ops.sqDist(vi(0, 300), ops.gather(pm(1, 300), vj(2, 1)))))),
  reduction('Sum', ops.mul(ops.sqDist(vi(0, 150), vj(1, 150)), ops.gather(vj(3, 300), vi(2, 1)))),
  reduction('ArgMin', ops.sqDist(ops.gather(vi(0, 150), vi(2, 1)), vj(1, 150)), { axis: 0 }),
];

type Adding = Pick<MapReduceProblem, 'accumulate' | 'sumScheme'>;

/** Other ways to sum, of one column and of many. */
const SUMS: readonly (readonly [Reduction, Adding])[] = [
  [reduction('Sum', gaussian(150)), { sumScheme: 'kahan' }],
  [reduction('Sum', ops.mul(gaussian(150), vj(2, 150))), { sumScheme: 'kahan' }],
  [reduction('Mean', gaussian(150)), { accumulate: 'float64' }],
  [reduction('Sum', ops.mul(gaussian(150), vj(2, 150))), { accumulate: 'float64' }],
  [reduction('LogSumExp', dot), { accumulate: 'float64', sumScheme: 'direct' }],
  [reduction('SumSoftMaxWeight', dot, { weight: vj(2, 64) }), { accumulate: 'float64' }],
];

/** Several reductions in one pass: of one column each, beside columns, and of columns of different numbers. */
const MANY: readonly (readonly [Reduction, ...Reduction[]])[] = [
  [
    reduction('Sum', gaussian(100)),
    reduction('KMinArgKMin', distance(100), { k: 5 }),
    reduction('Var', distance(100)),
  ],
  [
    reduction('Sum', ops.mul(gaussian(100), vj(2, 1))),
    reduction('Sum', ops.mul(gaussian(100), ops.sub(vi(0, 100), vj(1, 100)))),
  ],
  [
    reduction('SumSoftMaxWeight', dot, { weight: vj(2, 64) }),
    reduction('Sum', ops.mul(ops.exp(dot), vj(3, 300))),
    reduction('ArgMax', dot),
  ],
];

const problem = (one: Reduction, dtype: MapReduceProblem['dtype'], few = false) => {
  const [kept, reduced] = [few ? 500 : 100_000, 20_000];
  const [rowsI, rowsJ] = one.axis === 1 ? [kept, reduced] : [reduced, kept];
  return { reduction: one, dtype, rowsI, rowsJ, batch: 1 };
};

/** Problems whose plans stand for all formulas of long vectors: many rows, and few in float32. */
export function pairTileProblems(): MapReduceProblem[] {
  return [
    ...[...LONG, ...COLUMNS].map((one) => problem(one, 'float32')),
    ...LONG.slice(0, 3).map((one) => problem(one, 'float32', true)),
    ...LONG.slice(0, 4).map((one) => problem(one, 'float64')),
    ...BY_INDEX.map((one) => problem(one, 'float32')),
    ...BY_INDEX.slice(0, 2).map((one) => problem(one, 'float64')),
    ...MANY.flatMap(([one, ...further]) => [
      { ...problem(one, 'float32'), further },
      { ...problem(one, 'float64', true), further },
    ]),
    ...SUMS.map(([one, adding], n) => ({ ...problem(one, 'float32', n % 2 === 0), ...adding })),
  ];
}
