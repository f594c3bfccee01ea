import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { ARCHITECTURES, chosenFor, complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultProductsKernels } from './default-products.test-support.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'kernels around products through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(ARCHITECTURES)('compile for %s without a spill', async (arch) => {
      const kernels = defaultProductsKernels(H200);
      expect(kernels).toHaveLength(9);
      expect(await complaints(chosenFor(arch, kernels), arch)).toEqual([]);
    });
  },
);
