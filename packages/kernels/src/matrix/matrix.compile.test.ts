import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { ARCHITECTURES, chosenFor, complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultMatrixKernels } from './default-matrix-kernels.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();

describe.skipIf(!available)(
  'kernels on matrices through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(ARCHITECTURES)(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const all = defaultMatrixKernels();
        const some = all.filter((_, i) => i % 3 === 0);
        expect(await complaints(chosenFor(arch, all, some), arch)).toEqual([]);
      },
    );
  },
);
