import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { complaints } from '../testing/nvrtc-complaints.test.helper.js';
import { defaultMatrixKernels } from './default-matrix-kernels.js';

useNvrtc();
const available = nvrtc.isAvailable();

describe.skipIf(!available)(
  'kernels on matrices through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        expect(await complaints(defaultMatrixKernels(), arch)).toEqual([]);
      },
    );
  },
);
