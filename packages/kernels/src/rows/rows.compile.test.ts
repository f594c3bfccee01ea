import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { ARCHITECTURES, chosenFor, complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultRowsKernels } from './default-rows.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultRowsKernels(H200);
const some = kernels.filter((_, i) => i % 4 === 2);

describe.skipIf(!available)(
  'row preparation through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(ARCHITECTURES)(
      'compiles for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        expect(await complaints(chosenFor(arch, kernels, some), arch)).toEqual([]);
      },
    );
  },
);
