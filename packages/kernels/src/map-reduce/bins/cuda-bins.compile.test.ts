import { nvrtc } from '@mercer/cuda-runtime';
import { ops, reduction, vi, vj } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { distinctKernels } from '../../named-kernel.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { chosenFor, complaints, EVERY_PLAN } from '../../testing/nvrtc-complaints.test-support.js';
import { emitMapReduce } from '../emit.js';
import { planMapReduce } from '../plan.js';
import type { MapReduceProblem } from '../problem.js';

useNvrtc();

const place = ops.mul(ops.sqDist(vi(0, 3), vj(1, 3)), 100);
const sum = reduction('Sum', ops.where(ops.oneHot(place, 1000), vj(2, 1), 0));

/** Histograms of squared distances: many rows and few, with ranges, and with sums in float64. */
const problems = (['float32', 'float64'] as const).flatMap((dtype): MapReduceProblem[] => {
  const one = { reduction: sum, dtype, rowsI: 100_000, rowsJ: 100_000, batch: 1 };
  return [
    one,
    { ...one, rowsI: 100 },
    { ...one, ranges: true },
    ...(dtype === 'float32' ? [{ ...one, accumulate: 'float64' } as const] : []),
  ];
});
const kernels = distinctKernels(
  problems.map((problem) => emitMapReduce(planMapReduce(problem, H200))),
);

describe.skipIf(!nvrtc.isAvailable())(
  'sums with components in memory through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each([...EVERY_PLAN, 'sm_80'] as const)(
      'compiles for %s without a spill',
      async (arch) => {
        expect(kernels.length).toBeGreaterThanOrEqual(problems.length);
        expect(await complaints(chosenFor(arch, kernels), arch, () => 0)).toEqual([]);
      },
    );
  },
);
