import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { chosenFor, complaints, EVERY_PLAN } from '../testing/nvrtc-complaints.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitTotals } from './cuda-totals.js';
import { planTotals } from './plan-totals.js';
import { productsProblem, totalsProblem } from './totals-problems.test-support.js';

useNvrtc();
const problems = [
  ...(['float32', 'float64', 'float16', 'bfloat16'] as const).flatMap((dtype) =>
    [1, 100].map((runs) => totalsProblem(dtype, new Array<number>(runs).fill(1000))),
  ),
  // two vectors of ten pairs, and the gradient
  ...(['float32', 'float64'] as const).map((dtype) => productsProblem(dtype, 21, 1000)),
];
const kernels = problems.map((problem) => {
  const kernel = emitTotals(planTotals(problem, H200).plan);
  return { name: kernel.name, kernel };
});

describe.skipIf(!nvrtc.isAvailable())(
  'totals through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each([...EVERY_PLAN, 'sm_80'] as const)('compile for %s without a spill', async (arch) => {
      expect(await complaints(chosenFor(arch, kernels), arch)).toEqual([]);
    });
  },
);
