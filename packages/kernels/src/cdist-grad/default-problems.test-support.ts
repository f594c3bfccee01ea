import type { DeviceLimits } from '../device-limits.js';
import type { KernelProgram } from '../emitted-kernel.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import type { PairwiseDType } from '../dtype.js';
import { emitCdistGrad } from './emit.js';
import { isSpecialisedDerivative, normDerivative } from './norm-derivative.js';
import { planCdistGrad } from './plan.js';
import type { CdistGradPlanOptions } from './cuda/plan.js';
import type { CdistGradProblem } from './problem.js';

type Size = readonly [m: number, n: number, o: number, k: number];

/** One size per kind of plan: large, one row of c, more rows than a tile, few outputs with a long sum. */
const SIZES: readonly Size[] = [
  [1024, 1024, 16, 4096],
  [1000, 1000, 1, 64],
  [1000, 1000, 40, 1000],
  [32, 32, 16, 10000],
];
/** Norms with texts of their own, then run-time ones; undefined lies in device memory. */
const NORMS = [1, 2, 3, 1.5, 0.5, 1.3, 4.3, undefined];
const STRATEGIES = ['fma', 'mma'] as const;

function problem(
  dtype: PairwiseDType,
  p: number | undefined,
  [m, n, o, k]: Size,
  aligned: boolean,
): CdistGradProblem {
  const specialised = p !== undefined && isSpecialisedDerivative(p);
  return {
    dtype,
    m,
    n,
    o,
    k,
    batch: 1,
    phi: normDerivative(specialised ? p : 'runtime'),
    ...(p === undefined ? {} : { p }),
    alignedA: aligned,
    alignedB: aligned,
    alignedC: aligned,
    alignedOut: aligned,
  };
}

/**
 * The kernels that stand for the family, each text once: every norm at the large size, every size at
 * p = 2, with and without alignment, and on a GPU by either strategy.
 */
export function defaultCdistGradKernels(limits: DeviceLimits): NamedKernel[] {
  const programs: KernelProgram[] = [];
  const add = (given: CdistGradProblem, options: CdistGradPlanOptions): void => {
    programs.push(emitCdistGrad(planCdistGrad(given, limits, options)));
  };
  for (const dtype of ['float32', 'float64'] as const) {
    for (const strategy of STRATEGIES) {
      if (strategy === 'mma' && (dtype === 'float64' || limits.kind === 'cpu')) continue;
      const options = limits.kind === 'cpu' ? {} : { strategy };
      const large = SIZES.slice(0, 1);
      for (const p of NORMS) for (const size of large) add(problem(dtype, p, size, true), options);
      for (const size of SIZES) {
        for (const aligned of [true, false]) add(problem(dtype, 2, size, aligned), options);
      }
    }
  }
  return distinctKernels(programs);
}
