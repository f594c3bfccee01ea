import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import type { CudaKernel } from '../emitted-kernel.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { emitUserKernel } from './user-kernel.js';
import { userKernels } from './user-kernels.test-support.js';

useNvrtc();

const kernels = userKernels().map((one) => {
  const kernel = emitUserKernel(one, 'cuda') as CudaKernel;
  return { name: kernel.name, kernel };
});

describe.skipIf(!nvrtc.isAvailable())(
  'kernels of users through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_80', 'sm_90a', 'sm_120'])('compile for %s', async (arch) => {
      expect(await complaints(kernels, arch)).toEqual([]);
    });
  },
);
