import {
  indexI,
  indexJ,
  inputsOf,
  ops,
  pm,
  reduction,
  REDUCTION_KINDS,
  traitsOf,
  vi,
  vj,
  type Reduction,
  type ReductionKind,
  type VectorExpr,
} from '@mercer/formula';
import { rangesFromMatrix, swapAxes } from '../ranges/ranges.js';
import { wholeNumber, type MapReduceCase } from '../map-reduce-check.test-support.js';

type Given = Omit<MapReduceCase, 'dtype' | 'rowsI' | 'rowsJ'>;

/** Dims around powers of two, of vectors and of tiles, and beyond what is written out. */
export const DIMS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99, 100],
  ...[127, 128, 129, 146, 255, 256, 257, 300, 1000],
] as const;

/** A reduction over points of dim `inner` with results of `outer` components, on data where it is exact or bounded. */
export function sweepCase(kind: ReductionKind, inner: number, outer: number, axis: 0 | 1): Given {
  const distance = ops.sqDist(vi(0, inner), vj(1, inner));
  const columns = ops.sub(vi(2, outer), vj(3, outer));
  const scaled = ops.div(distance, -8 * inner);
  const weight = ops.add(ops.abs(vj(3, outer)), 0.5);
  const k = traitsOf(kind).takesK ? { k: 3 } : {};
  const make = (formula: VectorExpr, more: { weight?: VectorExpr } = {}): Reduction =>
    reduction(kind, formula, { axis, ...k, ...more });
  switch (kind) {
    case 'LogSumExp':
    case 'SumSoftMaxWeight':
    case 'MaxSumShiftExp':
      return { reduction: make(scaled, { weight }), fill: wholeNumber, units: 60 };
    case 'Mean':
      return { reduction: make(ops.add(distance, columns)), fill: wholeNumber, units: 60 };
    case 'Var':
      // less the mean of distances: a variance loses what the mean has in digits beyond the spread
      return {
        reduction: make(ops.add(ops.sub(distance, 8 * inner), columns)),
        fill: wholeNumber,
        units: 60,
      };
    case 'Prod':
      return {
        reduction: make(ops.add(1, ops.mul(0.01, ops.add(scaled, columns)))),
        fill: wholeNumber,
        units: 700,
      };
    case 'Count':
    case 'Any':
    case 'All':
      // about half of the distances are above their mean
      return {
        reduction: make(ops.relu(ops.add(ops.sub(distance, 8 * inner), columns))),
        fill: wholeNumber,
        units: 0,
      };
    default:
      return { reduction: make(ops.add(distance, columns)), fill: wholeNumber, units: 0 };
  }
}

const [x, y] = [vi(0, 150), vj(1, 150)];
const wholes = { fill: wholeNumber, units: 0 } as const;
const sum = (formula: VectorExpr, axis: 0 | 1 = 1): Reduction =>
  reduction('Sum', formula, { axis });
const scalar = vj(2, 1);

/** Every kind of node along a loop, sums within sums, inputs of all categories. */
export const STRUCTURE_CASES: readonly (readonly [name: string, Given])[] = [
  [
    'Concat and Extract',
    {
      reduction: sum(ops.mul(ops.concat(x, scalar, y), ops.extract(pm(3, 400), 50, 301))),
      ...wholes,
    },
  ],
  [
    'a sum over Concat',
    { reduction: sum(ops.sum(ops.square(ops.concat(x, scalar, y, x)))), ...wholes },
  ],
  [
    'ExtractT',
    { reduction: sum(ops.add(ops.extractT(x, 20, 200), ops.elemT(scalar, 200, 190))), ...wholes },
  ],
  [
    'ElemT and Elem',
    { reduction: sum(ops.dot(ops.elemT(ops.elem(x, 149), 150, 7), y)), ...wholes },
  ],
  ['complex products', { reduction: sum(ops.complexMult(x, y)), ...wholes }],
  ['OneHot', { reduction: sum(ops.mul(ops.oneHot(vi(4, 1), 140), scalar)), ...wholes }],
  [
    'every third place',
    { reduction: sum(ops.mul(ops.extractT(vi(0, 40), 5, 130, 3), pm(3, 130))), ...wholes },
  ],
  [
    'every third component',
    { reduction: sum(ops.sum(ops.abs(ops.extract(ops.sub(x, y), 1, 49, 3)))), ...wholes },
  ],
  ['SumT', { reduction: sum(ops.mul(ops.sumT(ops.dot(x, y), 70), pm(3, 70)), 0), ...wholes }],
  [
    'Max and ArgMax of components',
    { reduction: sum(ops.add(ops.max(ops.sub(x, y)), ops.argMax(ops.sub(x, y)))), ...wholes },
  ],
  [
    'Min and ArgMin of components',
    { reduction: sum(ops.add(ops.min(ops.sub(x, y)), ops.argMin(ops.sub(x, y)))), ...wholes },
  ],
  ['a matrix of every j', { reduction: sum(ops.matVecMult(vj(1, 20 * 30), vi(0, 30))), ...wholes }],
  ['a matrix of every i', { reduction: sum(ops.vecMatMult(vj(1, 30), vi(0, 30 * 20))), ...wholes }],
  [
    'a form of two vectors',
    { reduction: sum(ops.dot(ops.matVecMult(pm(3, 40 * 30), vi(0, 30)), vj(1, 40))), ...wholes },
  ],
  [
    'TensorDot with two summed axes and a permutation',
    {
      reduction: sum(
        ops.tensorDot(vi(0, 60), vj(1, 120), [3, 4, 5], [4, 6, 5], [1, 2], [0, 2], [1, 0]),
      ),
      ...wholes,
    },
  ],
  ['TensorProd', { reduction: sum(ops.tensorProd(vi(0, 30), vj(1, 40)), 0), ...wholes }],
  ['Kron', { reduction: sum(ops.kron(vi(0, 12), vj(1, 20), [3, 4], [4, 5])), ...wholes }],
  [
    'row numbers and parameters',
    {
      reduction: sum(
        ops.add(ops.weightedSqDist(pm(3, 150), x, y), ops.sub(indexI, ops.mul(2, indexJ))),
      ),
      ...wholes,
    },
  ],
  [
    'functions of a column and of a sum',
    { reduction: sum(ops.sin(ops.add(ops.cos(x), ops.div(ops.sqDist(x, y), 150)))), units: 400 },
  ],
  [
    'one sum within another',
    { reduction: sum(ops.dot(ops.normalize(x), ops.normalize(y))), units: 400 },
  ],
  [
    'a gradient of a Gaussian',
    {
      reduction: sum(
        ops.mul(ops.mul(ops.exp(ops.div(ops.sqDist(x, y), -150)), scalar), ops.sub(x, y)),
      ),
      units: 80,
    },
  ],
  [
    'an input of another batch',
    { reduction: sum(ops.mul(ops.sqDist(x, y), vj(2, 70))), shared: [1], ...wholes },
  ],
];

/** Types of the numbers: inputs of 16 bits are computed with in float32. */
export const NUMBERS = ['float32', 'float64', 'float16', 'bfloat16'] as const;
export const AXES = [0, 1] as const;

/** A case of the sweep: points of dim `inner`, results of `outer` components. */
export interface SweepCase {
  readonly inner: number;
  readonly outer: number;
  readonly axis: 0 | 1;
  readonly numbers: (typeof NUMBERS)[number];
  readonly kind: ReductionKind;
}

/** A case of the sweep with its data: whole numbers, which 16 bits have exactly. */
export function caseOf({
  kind,
  inner,
  outer,
  axis,
  numbers,
}: SweepCase): Omit<MapReduceCase, 'rowsI' | 'rowsJ'> {
  const one = sweepCase(kind, inner, outer, axis);
  if (numbers === 'float32' || numbers === 'float64') return { ...one, dtype: numbers };
  const { formula, weight } = one.reduction;
  const inputs = inputsOf(...(weight ? [formula, weight] : [formula]));
  const storage = Object.fromEntries(inputs.map(({ position }) => [position, numbers]));
  return { ...one, dtype: 'float32', storage, fillsHalf: true };
}

/** Every dim, as points and as results, with every reduction, and both with every type and axis. */
export function everyPair(dims: readonly number[]): SweepCase[] {
  return dims.flatMap((inner, at) =>
    REDUCTION_KINDS.map((kind, k) => ({
      inner,
      kind,
      outer: dims[(at * 11 + k) % dims.length] ?? 1,
      axis: AXES[((at >> 1) + k) % 2] ?? 0,
      numbers: NUMBERS[(at + (k >> 1)) % NUMBERS.length] ?? 'float32',
    })),
  );
}

/** Every dim with every reduction, type and axis: thousands of kernels. */
function wholeSweep(): SweepCase[] {
  return DIMS.flatMap((inner, at) =>
    REDUCTION_KINDS.flatMap((kind, k) =>
      NUMBERS.flatMap((numbers) =>
        AXES.map((axis) => ({
          inner,
          axis,
          numbers,
          kind,
          outer: DIMS[(at * 11 + k) % DIMS.length] ?? 1,
        })),
      ),
    ),
  );
}

const isFull = process.env['MERCER_TEST_FULL'] === '1';

/** A third of {@link everyPair}, in which only dims do not meet each other and every reduction, or all of it with MERCER_TEST_FULL=1. */
export const COVERING_PAIRS: readonly SweepCase[] = everyPair(DIMS).filter(
  ({ inner, kind }) =>
    isFull || (DIMS.indexOf(inner as 1) + REDUCTION_KINDS.indexOf(kind) + 1) % 3 === 0,
);

/** What is computed by kernels as they are compiled for users: each dim once and every reduction, or everything with MERCER_TEST_FULL=1. */
export const SWEEP: readonly SweepCase[] = isFull
  ? wholeSweep()
  : everyPair(DIMS).filter(({ inner, kind }) => {
      const [at, k] = [DIMS.indexOf(inner as 1), REDUCTION_KINDS.indexOf(kind)];
      return (k + 5 * at) % REDUCTION_KINDS.length === 0;
    });

const RANGES = rangesFromMatrix(
  [
    [3, 20],
    [20, 21],
    [30, 52],
  ],
  [
    [0, 1],
    [5, 40],
    [41, 60],
  ],
  [
    [1, 1, 0],
    [0, 0, 0],
    [1, 0, 1],
  ],
);
const rows = { rowsI: 55, rowsJ: 61 } as const;

/** Ranges of rows, and inputs of 16 bits, for results of one column and of many. */
export const VARIANT_CASES: readonly (readonly [name: string, Given & typeof rows])[] = [
  ['ranges, the first of equals', { ...sweepCase('MaxArgMax', 70, 1, 1), ranges: RANGES, ...rows }],
  [
    'ranges over i, the three nearest',
    { ...sweepCase('KMinArgKMin', 70, 1, 0), ranges: swapAxes(RANGES), ...rows },
  ],
  ['ranges, means of columns', { ...sweepCase('Mean', 70, 70, 1), ranges: RANGES, ...rows }],
  [
    '16 bits, ranges',
    {
      reduction: sum(ops.mul(ops.sqDist(x, y), scalar)),
      ranges: RANGES,
      ...rows,
      storage: { 0: 'float16', 1: 'bfloat16' },
      units: 60,
    },
  ],
  [
    '16 bits, columns',
    {
      reduction: sum(ops.mul(ops.add(x, y), ops.sqDist(x, y))),
      ...rows,
      storage: { 0: 'bfloat16', 1: 'float16' },
      units: 60,
    },
  ],
];

/** Sizes that are no multiples of anything, and a batch. */
export const LOOPED_SIZES = [
  { rowsI: 19, rowsJ: 13 },
  { rowsI: 3, rowsJ: 5, batch: 2 },
] as const;
