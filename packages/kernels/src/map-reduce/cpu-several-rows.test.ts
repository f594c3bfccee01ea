import { ops, reduction, vi, vj, type ReductionKind, type VectorExpr } from '@mercer/formula';
import { describe, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../testing/cpu-harness.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import {
  checkMapReduce,
  wholeNumber,
  type MapReduceCase,
} from './map-reduce-check.test-support.js';

type Given = Omit<MapReduceCase, 'dtype' | 'rowsI' | 'rowsJ'>;

// The interpreter has its loops for every level, and nothing to compile.
const levels = runnableLevels().slice(process.env['MERCER_CPU'] === 'interpreted' ? 0 : -1);
const planned = { rowsI: 1000, rowsJ: 1000 };

/** Whole numbers, with a NaN or an infinity in one of some hundred rows: most are added several at a time, some one by one. */
const rare = (dim: number) => (): number => {
  const r = random() * dim;
  if (r < 0.002) return NaN;
  return r < 0.004 ? Infinity : r < 0.006 ? -Infinity : wholeNumber();
};

const distance = (dim: number): VectorExpr => ops.sqDist(vi(0, dim), vj(1, dim));
/** Written out, with a second component, and by a loop over components. */
const FORMULAS: readonly (readonly [dim: number, formula: VectorExpr])[] = [
  [1, ops.mul(vi(0, 1), vj(1, 1))],
  [2, ops.sub(vi(0, 2), vj(1, 2))],
  [12, distance(12)],
];

const KINDS: readonly (readonly [kind: ReductionKind, k?: number])[] = [
  ['Min'],
  ['MaxArgMax'],
  ['ArgMin'],
  ['KMinArgKMin', 1],
  ['KMaxArgKMax', 5],
];

const ranked = KINDS.flatMap(([kind, k]) =>
  FORMULAS.map(([dim, formula]): readonly [string, Given] => [
    `${[kind, k].join(' ')} of points of dim ${dim}, special values rare`,
    {
      reduction: reduction(kind, formula, k === undefined ? {} : { k }),
      units: 0,
      fill: rare(dim),
    },
  ]),
);

/** Numbers of which each is larger than the one before by `step`, after `empty` that are minus infinity. */
function rising(step: number, empty: number): () => number {
  let count = 0;
  return () => (count++ < empty ? -Infinity : ((count * step) % 4096) / 8);
}

/** So many products and sums that four rows, two or one are unrolled. */
function long(steps: number): VectorExpr {
  let value: VectorExpr = vi(0, 1);
  for (let n = 0; n < steps; n++) value = ops.add(ops.mul(value, vj(1, 1)), vi(0, 1));
  return value;
}
const near = (): number => random() - 0.5;

const ofRow = vj(1, 1);
const ofPair = ops.exp(ops.mul(vi(0, 1), ofRow));
// of one sign, so that nothing cancels
const weight = ops.add(vj(2, 2), 2);
const sums: readonly (readonly [string, Given])[] = [
  ...([1, 12] as const).flatMap((dim): (readonly [string, Given])[] => [
    [
      `LogSumExp of points of dim ${dim}`,
      { reduction: reduction('LogSumExp', ops.neg(distance(dim))), units: 20 + 4 * dim },
    ],
    [
      `SumSoftMaxWeight of points of dim ${dim}`,
      {
        reduction: reduction('SumSoftMaxWeight', ops.neg(distance(dim)), { weight }),
        units: 20 + 4 * dim,
      },
    ],
  ]),
  ...[60, 120, 200].flatMap((steps): (readonly [string, Given])[] => [
    [
      `LogSumExp of ${steps} steps`,
      { reduction: reduction('LogSumExp', long(steps)), units: 40, fill: near },
    ],
    [
      `KMin of ${steps} steps`,
      { reduction: reduction('KMin', long(steps), { k: 3 }), units: 40, fill: near },
    ],
  ]),
  // rows that count far more than all before, by a little more each, and after none that count
  ['LogSumExp of steep rows', { reduction: reduction('LogSumExp', ofRow), fill: rising(200, 0) }],
  ['LogSumExp of slow rows', { reduction: reduction('LogSumExp', ofRow), fill: rising(5, 0) }],
  ['LogSumExp, first empty', { reduction: reduction('LogSumExp', ofRow), fill: rising(5, 20) }],
  ['LogSumExp of nothing', { reduction: reduction('LogSumExp', ofRow), fill: () => -Infinity }],
];

const [x, y] = [vi(0, 3), vj(1, 3)];
const gaussian = ops.exp(ops.neg(ops.sqDist(x, y)));
const scaled = ops.mul(gaussian, ops.sub(x, y));
const far = [vi(0, 70), vj(1, 70)] as const;
const columns: readonly (readonly [string, Given])[] = [
  // columns that are a value of the pair times one of the row, the first also by itself
  [
    'weighted columns',
    {
      reduction: reduction('Sum', ops.mul(ops.exp(ops.neg(ops.sqDist(x, y))), vj(2, 3))),
      units: 20,
    },
  ],
  [
    'a column and its square',
    {
      reduction: reduction(
        'Mean',
        ops.concat(ops.mul(ofPair, ofRow), ops.square(ops.mul(ofPair, ofRow))),
      ),
      units: 20,
    },
  ],
  // columns that are a value of the pair times a difference of its rows, in fours and what is left
  ...([0, 1] as const).flatMap((axis): (readonly [string, Given])[] => [
    [
      `differences times a distance, axis ${axis}, special values rare`,
      {
        reduction: reduction('Sum', ops.mul(distance(6), ops.sub(vi(0, 6), vj(1, 6))), { axis }),
        units: 0,
        fill: rare(6),
      },
    ],
    [
      `differences times a Gaussian and that, axis ${axis}`,
      { reduction: reduction('Mean', ops.concat(scaled, gaussian), { axis }), units: 20 },
    ],
    [
      `differences times a Gaussian and their sum, axis ${axis}`,
      { reduction: reduction('Sum', ops.concat(scaled, ops.sum(scaled)), { axis }), units: 40 },
    ],
    [
      `differences times a Gaussian of many components, axis ${axis}`,
      {
        reduction: reduction(
          'Sum',
          ops.mul(ops.exp(ops.neg(ops.sqDist(far[0], far[1]))), ops.sub(far[0], far[1])),
          { axis },
        ),
        units: 300,
        fill: () => random() / 8,
      },
    ],
  ]),
  [
    'columns of three weights',
    {
      reduction: reduction('SumSoftMaxWeight', ops.neg(ops.sqDist(x, y)), {
        weight: ops.concat(weight, ops.exp(weight)),
      }),
      units: 60,
    },
  ],
];

// Every case meets every level with one of both dtypes: they take turns.
const cases = levels.flatMap((level, at) =>
  (['float32', 'float64'] as const).map((dtype, n) => ({ level, dtype, turn: at + n })),
);

describe.each(cases)('several rows at a time on $level, $dtype', ({ level, dtype, turn }) => {
  const limits = cpuTestLimits(level);
  test.each(covering([...ranked, ...sums, ...columns], turn))('%s', (_, one) => {
    for (const sizes of [
      { rowsI: 37, rowsJ: 301 },
      { rowsI: 5, rowsJ: 9 },
    ]) {
      checkMapReduce({ ...one, ...sizes, dtype, planned }, limits, runCpuProgram);
    }
  });
});
