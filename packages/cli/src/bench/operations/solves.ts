import {
  cg,
  lazyI,
  lazyJ,
  nystrom,
  pivotedCholesky,
  random,
  type IterativeSolution,
  type LinearOperator,
} from '@mercer/core';
import type { SolverCell } from '../cells.js';
import { makeOperands, type DataSet } from '../data-sets.js';
import { evenlySpread, spreadOf, type Spread } from '../statistics.js';
import { measureCalls } from '../timer.js';
import type { BenchCall, Float, FloatArray, ResidualOperation } from './operation.js';
import { reductionMs, pairSlots } from './reduction-floor.js';
import { squaredDistance } from './reduction-errors.js';

/** A system with a Gaussian kernel matrix. */
interface Problem {
  /** Of `exp(-gamma |x - y|^2)`. */
  readonly gamma: number;
  /** The multiple of the identity. */
  readonly alpha: number;
  readonly dataSet: DataSet;
}

/** The true residual that is asked for, by the norm of the right-hand side. */
export const toleranceOf = ({ dtype }: Pick<SolverCell, 'dtype'>): number =>
  dtype === 'float32' ? 1e-4 : 1e-8;

/** Kernel interpolation of points that fill a cube. */
export const solveOperation = systemOperation({ gamma: 10, alpha: 0.1, dataSet: 'uniform' });

/** The system of KeOps' benchmark of inverse kernels (plot_benchmark_invkernel): a bandwidth of 0.01, so nearly a multiple of the identity. */
export const inverseKernelOperation = systemOperation({
  gamma: 1 / (2 * 0.01 ** 2),
  alpha: 0.8,
  dataSet: 'normal',
});

type Operator = LinearOperator<'float32' | 'float64'>;

function systemOperation(problem: Problem): ResidualOperation<SolverCell> {
  const { gamma, alpha, dataSet } = problem;
  return {
    text: `x of (K + ${alpha} I) x = b with K = exp(-${gamma} |x_i - x_j|^2) of n ${dataSet} points, by conjugate gradients, to a true residual of the tolerance; a preconditioner is made anew in every call`,
    parameters: (cell) => ({ gamma, alpha, tolerance: toleranceOf(cell) }),
    operands: ({ n, d }) => [
      { name: 'x', shape: [n, d] },
      { name: 'b', shape: [n, 1] },
    ],
    results: ({ n }) => [[n, 1]],
    dataSet,
    makeData: (set, { dtype, n, d }) => [
      makeOperands(set, dtype, n, 0, d).a,
      makeOperands('normal', dtype, n, 0, 1, 2).a,
    ],
    prepare: (cell, operands) => Promise.resolve(prepareSolve(problem, cell, operands)),
    // of one product
    arithmeticMs: (cell, limits) =>
      reductionMs({ ...cell, operation: 'gaussianSum', m: cell.n }, pairSlots.gaussianSum, limits),
    residuals: (cell, data, results) => [trueResidual(problem, cell, data, results)],
  };
}

function prepareSolve(
  { gamma, alpha }: Problem,
  cell: SolverCell,
  [x, b]: readonly Float[],
): BenchCall {
  if (x === undefined || b === undefined) throw new RangeError('a system has two operands');
  // sums of 10,000 terms in float32 end a CPU's solves just above 1e-4; in float64 they take as long there
  const isWide = x.device.kind === 'cpu' && cell.dtype === 'float32';
  const kernel = lazyI(x)
    .sqdist(lazyJ(x))
    .mul(-gamma)
    .exp()
    .asOperator(isWide ? { accumulate: 'float64' } : {});
  const operator = kernel.shift(alpha);
  const rtol = toleranceOf(cell);
  let last: IterativeSolution<'float32' | 'float64'> | undefined;
  return {
    plan: [
      'cg',
      ...(isWide ? ['sums in float64'] : []),
      ...(cell.preconditioner === undefined ? [] : [`${cell.preconditioner} of rank ${cell.rank}`]),
    ].join(', '),
    run: async () => {
      using preconditioner = await preconditionerOf(kernel, alpha, cell);
      last = await cg(operator, b, { rtol, preconditioner });
      return [last.x];
    },
    iterative: async (maxSeconds) => {
      const { iterations = 0, converged = false } = last ?? {};
      const time = async (call: () => Promise<Disposable | undefined>): Promise<Spread> =>
        spreadOf(
          await measureCalls(x.device, maxSeconds, async () => {
            (await call())?.[Symbol.dispose]();
          }),
        );
      const productMs = await time(() => kernel.matvec(b));
      if (cell.preconditioner === undefined) return { iterations, converged, productMs };
      const preconditionerMs = await time(() => preconditionerOf(kernel, alpha, cell));
      using preconditioner = await preconditionerOf(kernel, alpha, cell);
      const iterationsMs = await time(
        async () => (await cg(operator, b, { rtol, preconditioner })).x,
      );
      return { iterations, converged, productMs, preconditionerMs, iterationsMs };
    },
    dispose: () => undefined,
  };
}

async function preconditionerOf(
  kernel: Operator,
  shift: number,
  { preconditioner, rank = 0 }: SolverCell,
): Promise<Operator | undefined> {
  if (preconditioner === undefined) return undefined;
  if (preconditioner === 'pivotedCholesky') return await pivotedCholesky(kernel, { rank, shift });
  const columns = preconditioner === 'nystromColumns';
  return await nystrom(kernel, { rank, shift, key: random.key(1), columns });
}

/** Pairs of components that a check may take, and rows that it takes whatever they are. */
const MOST_COMPONENTS = 3e8;
const LEAST_ROWS = 256;

/**
 * The norm of `b - A x` by that of b, by the tolerance: term by term in float64, of all rows, or of as many as are quick, evenly spread. Points are in
 * no order, so the rows are a sample of all.
 */
function trueResidual(
  { gamma, alpha }: Problem,
  cell: SolverCell,
  [points, b]: readonly FloatArray[],
  [x]: readonly ArrayLike<number>[],
): number {
  const { n, d } = cell;
  if (points === undefined || b === undefined || x?.length !== n) {
    throw new RangeError(`${cell.operation} has ${n} unknowns, not ${x?.length ?? 0}`);
  }
  const rows = evenlySpread(n, Math.max(LEAST_ROWS, Math.floor(MOST_COMPONENTS / (n * d))));
  let left = 0;
  for (const row of rows) {
    const point = points.subarray(row * d, (row + 1) * d);
    let product = alpha * (x[row] ?? NaN);
    for (let j = 0; j < n; j++) {
      product += Math.exp(-gamma * squaredDistance(point, points, j)) * (x[j] ?? NaN);
    }
    left += ((b[row] ?? NaN) - product) ** 2;
  }
  let right = 0;
  for (const value of b) right += value ** 2;
  return Math.sqrt((left * n) / (rows.length * right)) / toleranceOf(cell);
}
