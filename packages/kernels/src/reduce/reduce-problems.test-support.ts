import { add, mul, sub, variable, type RealExpr } from '@mercer/formula';
import { isSpread, type ReduceInput, type ReduceKind, type ReduceProblem } from './plan-reduce.js';

export const REDUCE_KINDS: readonly ReduceKind[] = [
  'sum',
  'prod',
  'min',
  'max',
  'argMin',
  'argMax',
  'any',
  'all',
  'logSumExp',
  'softmax',
  'logSoftmax',
];

const rowMajorStrides = (shape: readonly number[]): readonly number[] =>
  shape.map((_, axis) => shape.slice(axis + 1).reduce((size, extent) => size * extent, 1));

const x = variable('x');
const y = variable('y');

/** Shapes for every form of text: the threads of a result, of a large block too, results beside each other, a thread each, parts, several axes. */
const SHAPES: readonly (readonly [
  kept: readonly number[],
  reduced: readonly number[],
  inputs: readonly (readonly [kept: readonly number[], reduced: readonly number[]])[],
])[] = [
  [[5], [300], [[[300], [1]]]],
  [[70], [90], [[[1], [70]]]],
  [[300], [7], [[[7], [1]]]],
  [[], [40_000], [[[], [1]]]],
  [[2], [5000], [[[5000], [1]]]],
  [[3], [9000], [[[1], [3]]]],
  [
    [4, 5],
    [6, 7],
    [
      [
        [210, 6],
        [35, 1],
      ],
    ],
  ],
  [
    [6, 3],
    [5, 4],
    [
      [
        [20, 0],
        [4, 1],
      ],
      [
        [0, 5],
        [1, 2],
      ],
    ],
  ],
];

/** Problems of every kind over every form of text. */
export function reduceProblems(computesIn: 'float32' | 'float64'): readonly ReduceProblem[] {
  return REDUCE_KINDS.flatMap((kind) =>
    SHAPES.map(([kept, reduced, layouts]): ReduceProblem => {
      const inputs = layouts.map(([keptStrides, reducedStrides], k): ReduceInput => ({
        name: k === 0 ? 'x' : 'y',
        dtype: k === 0 ? computesIn : 'int32',
        keptStrides,
        reducedStrides,
      }));
      const isIndex = kind === 'argMin' || kind === 'argMax';
      const isTruth = kind === 'any' || kind === 'all';
      const rowMajor = rowMajorStrides([...kept, ...reduced]);
      return {
        kind,
        expr: expression(kind, layouts.length),
        kept,
        reduced,
        inputs,
        out: isIndex ? 'int32' : isTruth ? 'bool' : computesIn,
        computesIn,
        parameters: { scale: 0.5 },
        divisor: kind === 'sum' ? 4 : 1,
        spread: isSpread(kind)
          ? {
              keptStrides: rowMajor.slice(0, kept.length),
              reducedStrides: rowMajor.slice(kept.length),
            }
          : undefined,
      };
    }),
  );
}

function expression(kind: ReduceKind, inputs: number): RealExpr {
  if (kind === 'prod') return add(1, mul(variable('scale'), mul(x, 1e-6)));
  return inputs > 1 ? sub(mul(x, x), mul(variable('scale'), y)) : mul(x, variable('scale'));
}
