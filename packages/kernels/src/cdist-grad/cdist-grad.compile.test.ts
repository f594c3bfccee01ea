import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import {
  assemblerLog,
  chosenFor,
  complaints,
  EVERY_PLAN,
  SOME_PLANS,
} from '../testing/nvrtc-complaints.test-support.js';
import { defaultCdistGradKernels } from './default-problems.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultCdistGradKernels(H200);
/**
 * Bytes that a thread may keep in local memory: the tensor-core kernel is cut to the last register, and
 * a value or two that are read once in a turn of a thousand instructions, or behind the loop, go there.
 */
const SPILLED_BYTES = 32;

describe.skipIf(!available)(
  'cdist-grad kernels through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)(
      'every default kernel compiles for %s and stays in registers',
      { timeout: 300_000 },
      async (arch) => {
        expect(kernels.length).toBeGreaterThan(30);
        expect(await complaints(chosenFor(arch, kernels), arch, () => SPILLED_BYTES)).toEqual([]);
      },
    );

    test.each(SOME_PLANS)(
      'one kernel of each kind compiles for %s',
      { timeout: 120_000 },
      async (arch) => {
        const byEntry = new Map(kernels.map((named) => [named.kernel.entry, named]));
        expect([...byEntry.keys()].sort()).toEqual([
          'cdist_grad_fma',
          'cdist_grad_mma',
          'cdist_grad_split',
        ]);
        for (const { kernel } of byEntry.values()) {
          await assemblerLog(kernel.source, arch);
        }
      },
    );
  },
);
