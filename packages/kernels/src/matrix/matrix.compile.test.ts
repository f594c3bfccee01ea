import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultMatrixKernels } from './default-matrix-kernels.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();

describe.skipIf(!available)(
  'kernels on matrices through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const all = arch === 'sm_90a' || arch === 'sm_120';
        const kernels = defaultMatrixKernels().filter((_, i) => all || i % 3 === 0);
        expect(await complaints(kernels, arch)).toEqual([]);
      },
    );
  },
);
