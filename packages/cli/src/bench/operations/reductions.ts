import { formula as language, genred, withGradients, type Tensor } from '@mercer/core';
import type { ReductionCell } from '../cells.js';
import { makeOperands } from '../data-sets.js';
import { points } from './points.js';
import { oneResult, type FloatArray, type ReductionOperation, type Result } from './operation.js';
import {
  neighbourErrors,
  rowErrors,
  weightedSumErrors,
  gradientErrors,
  logSumExpErrors,
  type RowError,
} from './reduction-errors.js';
import { pairSlots, reductionMs, type SlotCounts } from './reduction-floor.js';

/** What differs between reductions; x are the m points that keep a result each, y the n that are reduced. */
interface ReductionParts {
  readonly text: string;
  /** Of x, y and, where there are `weights`, b. */
  readonly formula: string;
  readonly reduction: 'Sum' | 'LogSumExp' | 'ArgKMin' | 'ArgMin';
  /** Whether there is a weight b for each row of y. */
  readonly weights: boolean;
  /** Numbers in a row of the result; default 1. */
  readonly columns?: (cell: ReductionCell) => number;
  readonly slots: SlotCounts;
  readonly error: RowError;
}

const GAUSSIAN = 'Exp(-SqDist(x, y)) * b';

/** `sum_j exp(-|x_i - y_j|^2) b_j` */
export const gaussianSumOperation = reductionOperation({
  text: 'sum over y of exp(-|x - y|^2) b',
  formula: GAUSSIAN,
  reduction: 'Sum',
  weights: true,
  slots: pairSlots.gaussianSum,
  error: weightedSumErrors((square) => Math.exp(-square)),
});

/** `sum_j exp(-|x_i - y_j|) b_j` */
export const laplacianSumOperation = reductionOperation({
  text: 'sum over y of exp(-|x - y|) b',
  formula: 'Exp(-Norm2(x - y)) * b',
  reduction: 'Sum',
  weights: true,
  slots: pairSlots.laplacianSum,
  error: weightedSumErrors((square) => Math.exp(-Math.sqrt(square))),
});

/** `log sum_j exp(-|x_i - y_j|^2)` */
export const logSumExpOperation = reductionOperation({
  text: 'log of the sum over y of exp(-|x - y|^2)',
  formula: '-SqDist(x, y)',
  reduction: 'LogSumExp',
  weights: false,
  slots: pairSlots.logSumExp,
  error: logSumExpErrors,
});

/** The Gaussian sum and the gradient of its total by x, in one pass: two results. */
export const gaussianGradientOperation: ReductionOperation = {
  ...reductionOperation({
    text: 'sum over y of exp(-|x - y|^2) b, and the gradient of the total of these sums by x, in one pass',
    formula: GAUSSIAN,
    reduction: 'Sum',
    weights: true,
    slots: pairSlots.gaussianGradient,
    error: gradientErrors,
  }),
  results: ({ m, d }) => [
    [m, 1],
    [m, d],
  ],
  prepare: async (cell, operands) => {
    const sum = genred(GAUSSIAN, aliasesOf(cell, true), { axis: 'j' }).reduction;
    const call = await withGradients(sum, { gradient: 'x' }).prepare(operands);
    return {
      plan: call.plans.map(({ summary }) => summary).join('; '),
      run: (out = []) => {
        const [value, gradient] = out as readonly Tensor<'float32' | 'float64'>[];
        const made = call(operands, value && gradient ? { out: { value, gradient } } : {});
        return [made.value, made.gradient];
      },
      dispose: () => undefined,
    };
  },
};

/** The row numbers of the k nearest y, the nearest first. */
export const nearestOperation = reductionOperation({
  text: 'row numbers of the k nearest y of each x, by squared distance, exactly',
  formula: 'SqDist(x, y)',
  reduction: 'ArgKMin',
  weights: false,
  columns: ({ k = 1 }) => k,
  slots: pairSlots.nearest,
  error: neighbourErrors,
});

/** The first half of an iteration of Lloyd's algorithm. */
export const kMeansAssignmentOperation = reductionOperation({
  text: 'assignment step of K-means, once: the row number of the nearest of n centroids y for each of m points x',
  formula: 'SqDist(x, y)',
  reduction: 'ArgMin',
  weights: false,
  slots: pairSlots.kMeansAssignment,
  error: neighbourErrors,
});

function reductionOperation(parts: ReductionParts): ReductionOperation {
  const { text, formula, reduction, weights, columns = () => 1, slots, error } = parts;
  return {
    text: `${text}; points have variance 1 / D in each coordinate, so that |x - y|^2 is about 2`,
    operands: ({ m, n, d }) => [
      { name: 'x', shape: [m, d] },
      { name: 'y', shape: [n, d] },
      ...(weights ? [{ name: 'b', shape: [n, 1] as const }] : []),
    ],
    results: (cell) => [[cell.m, columns(cell)]],
    ...(language.traitsOf(reduction).outputs.includes('index') ? { resultBytes: 4 } : {}),
    makeData: (set, cell) =>
      weights ? [...points(set, cell), weightsOf(cell)] : points(set, cell),
    prepare: async (cell, operands) => {
      const { k } = cell;
      const made = genred(formula, aliasesOf(cell, weights), { reduction, axis: 'j', k });
      const call = await made.prepare(...operands);
      return oneResult<Result>(call.plan.summary, (options) => call(operands, options));
    },
    arithmeticMs: (cell, limits) => reductionMs(cell, slots, limits),
    errors: (cell, data, results) => rowErrors(cell, data, results, error),
  };
}

/** What x, y and the weights are. */
const aliasesOf = ({ d }: ReductionCell, weights: boolean): readonly string[] => [
  ...[`x = Vi(${d})`, `y = Vj(${d})`],
  ...(weights ? ['b = Vj(1)'] : []),
];

/** Of both signs. */
function weightsOf({ dtype, n, batch }: ReductionCell): FloatArray {
  return makeOperands('normal', dtype, n * batch, 0, 1, 2).a;
}
