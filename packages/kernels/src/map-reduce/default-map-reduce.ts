import { ops, pm, reduction, vi, vj, type Reduction } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.js';
import { emitMapReduce } from './emit.js';
import { planMapReduce } from './plan.js';
import type { MapReduceProblem } from './problem.js';
import { wideProblems } from './wide/default-wide.js';

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

/** Problems whose plans stand for all: short and longer points, many rows and few, long vectors. */
export function mapReduceProblems(): MapReduceProblem[] {
  return [...shortProblems(), ...wideProblems()];
}

function shortProblems(): MapReduceProblem[] {
  return (['float32', 'float64'] as const).flatMap((dtype) =>
    [3, 32].flatMap((dim) =>
      reductions(dim).flatMap((one) =>
        [1_000_000, 1000].map((rowsI) => ({
          ...{ reduction: one, dtype, batch: 1 },
          ...{ rowsI: one.axis === 1 ? rowsI : 100_000, rowsJ: one.axis === 1 ? 100_000 : rowsI },
        })),
      ),
    ),
  );
}

/** Every kernel that the plans of `mapReduceProblems` give on a device, each text once. */
export function defaultMapReduceKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels(
    mapReduceProblems().map((problem) => emitMapReduce(planMapReduce(problem, limits))),
  );
}
