import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultTf32SplitKernels } from './default-tf32-split.test-support.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'the TF32 split through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'compiles for %s without a spill',
      async (arch) => {
        expect(await complaints(defaultTf32SplitKernels(), arch)).toEqual([]);
      },
    );
  },
);
