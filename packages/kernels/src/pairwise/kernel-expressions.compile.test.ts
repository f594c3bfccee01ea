import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { distinctKernels } from '../named-kernel.test-support.js';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { DESCRIPTOR_CASES } from '../testing/descriptor-cases.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { planCudaPairwise } from './cuda/plan.js';
import { emitPairwise } from './emit.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'kernels of descriptors through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(DESCRIPTOR_CASES)(
      '$name in large tiles compiles for sm_90a without a spill',
      { timeout: 120_000 },
      async ({ family }) => {
        for (const symmetric of [false, true]) {
          const problem = pairwiseProblem({
            ...family.expressions,
            dtype: 'float32',
            m: 30000,
            n: 30000,
            k: 1024,
            alignedA: true,
            alignedB: true,
            alignedOut: true,
            symmetric,
          });
          const plan = planCudaPairwise(problem, H200);
          expect(plan.strategy).toBe('tile');
          const kernels = distinctKernels([emitPairwise(plan)]);
          expect(await complaints(kernels, 'sm_90a')).toEqual([]);
        }
      },
    );
  },
);
