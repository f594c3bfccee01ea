import { ops, pm, reduction, traitsOf, vi, vj, type Reduction } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { emitMapReduce } from './emit.js';
import { planMapReduce } from './plan.js';
import { emitSelection } from './selection/emit-selection.js';
import { planSelection, type SelectionProblem } from './selection/plan-selection.js';
import type { MapReduceProblem } from './problem.js';
import { usualProblems } from './usual-problems.test-support.js';
import { pairTileProblems } from './loops/default-pair-tile.test-support.js';

/** Reductions that stand for all: sums, extrema, sums of exponentials, the K smallest. */
function reductions(dim: number): Reduction[] {
  const distance = ops.sqDist(vi(0, dim), vj(1, dim));
  const gaussian = ops.exp(ops.neg(ops.mul(pm(3, 1), distance)));
  const weight = vj(2, 2);
  return [
    reduction('Sum', ops.mul(gaussian, weight)),
    reduction('LogSumExp', ops.neg(distance)),
    reduction('SumSoftMaxWeight', ops.neg(distance), { weight }),
    reduction('ArgMin', distance),
    reduction('KMinArgKMin', distance, { k: 10 }),
    reduction('Count', ops.lessThan(distance, 1), { axis: 0 }),
  ];
}

/** Several reductions in one pass, ranges, 16-bit inputs, rows by index, other ways to sum. */
function variants(): MapReduceProblem[] {
  const distance = ops.sqDist(vi(0, 3), vj(1, 3));
  const weighted = ops.mul(ops.exp(ops.neg(distance)), vj(2, 1));
  const sizes = { rowsI: 100_000, rowsJ: 100_000, batch: 1 };
  const halves = { 0: 'float16', 1: 'bfloat16' } as const;
  const byIndex = reduction('Sum', ops.sqDist(vi(0, 3), ops.gather(pm(2, 3), vj(1, 1))));
  const all = (['float32', 'float64'] as const).flatMap((dtype): MapReduceProblem[] => [
    { dtype, ...sizes, reduction: byIndex },
    {
      dtype,
      ...sizes,
      ranges: true,
      reduction: reduction('Sum', weighted),
      further: [reduction('Sum', ops.mul(weighted, ops.sub(vj(1, 3), vi(0, 3))))],
    },
    {
      dtype,
      ...sizes,
      rowsI: 1000,
      reduction: reduction('Min', distance),
      further: [reduction('ArgMax', distance), reduction('Var', distance)],
    },
    { dtype, ...sizes, ranges: true, reduction: reduction('KMinArgKMin', distance, { k: 5 }) },
  ]);
  const stored = { dtype: 'float32', storage: halves, ...sizes } as const;
  const exponential = reduction('LogSumExp', ops.neg(distance));
  const few = { dtype: 'float32', ...sizes, rowsI: 1000 } as const;
  return [
    ...all,
    { ...stored, reduction: reduction('Sum', weighted) },
    { ...few, reduction: reduction('Mean', weighted), sumScheme: 'kahan' },
    { ...few, reduction: exponential, accumulate: 'float64' },
    { ...few, reduction: exponential, accumulate: 'float64', sumScheme: 'direct' },
    { ...few, reduction: exponential, accumulate: 'float64', rowsJ: 1000 },
  ];
}

/** Problems whose plans stand for all: short and longer points, many rows and few, long vectors. */
export function mapReduceProblems(): MapReduceProblem[] {
  return [
    ...plainProblems(),
    ...usualProblems(),
    ...variants(),
    ...smallProblems(),
    ...pairTileProblems(),
  ];
}

/** Few pairs: the threads of a block share its rows. */
function smallProblems(): MapReduceProblem[] {
  const sizes = { rowsI: 1000, rowsJ: 1000, batch: 1 };
  return (['float32', 'float64'] as const).flatMap((dtype) =>
    [3, 10].flatMap((dim): MapReduceProblem[] => {
      const [first, ...others] = reductions(dim).filter(({ kind }) => !traitsOf(kind).takesK);
      const gradient = ops.mul(ops.exp(ops.neg(ops.sqDist(vi(0, dim), vj(1, dim)))), vj(1, dim));
      return [
        ...others.map((one) => ({ reduction: one, dtype, ...sizes })),
        ...(first === undefined ? [] : [{ reduction: first, dtype, ...sizes, rowsI: 3000 }]),
        { reduction: reduction('Sum', gradient), dtype, ...sizes },
        { reduction: reduction('Mean', gradient), dtype, ...sizes, sumScheme: 'kahan' },
      ];
    }),
  );
}

function plainProblems(): MapReduceProblem[] {
  return (['float32', 'float64'] as const).flatMap((dtype) =>
    [3, 32].flatMap((dim) =>
      reductions(dim).flatMap((one) =>
        [1_000_000, 1000].map((rowsI) => ({
          reduction: one,
          dtype,
          batch: 1,
          rowsI: one.axis === 1 ? rowsI : 100_000,
          rowsJ: one.axis === 1 ? 100_000 : rowsI,
        })),
      ),
    ),
  );
}

/** Every kernel that the plans of `mapReduceProblems` and of some selections give on a device, each text once. */
export function defaultMapReduceKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels([
    ...mapReduceProblems().map((problem) => emitMapReduce(planMapReduce(problem, limits))),
    ...selections().map((problem) => emitSelection(planSelection(problem, limits))),
  ]);
}

function selections(): SelectionProblem[] {
  const sizes = { rowsI: 100_000, rowsJ: 100_000, batch: 1 };
  const distance = ops.sqDist(vi(0, 3), vj(1, 3));
  const mask = ops.lessOrEqual(distance, 0.01);
  const long = ops.sqDist(vi(0, 150), vj(1, 150));
  const near = ops.lessOrEqual(long, 1);
  return (['float32', 'float64'] as const).flatMap((dtype): SelectionProblem[] => [
    { mask, dtype, ...sizes },
    { mask, values: distance, ranges: true, dtype, ...sizes },
    { mask: near, values: long, dtype, ...sizes },
    { mask: near, ranges: true, dtype, ...sizes },
  ]);
}
