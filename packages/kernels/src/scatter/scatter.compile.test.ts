import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import {
  chosenFor,
  complaints,
  EVERY_PLAN,
  SOME_PLANS,
} from '../testing/nvrtc-complaints.test-support.js';
import { defaultScatterKernels } from './default-scatter.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultScatterKernels(H200);

describe.skipIf(!available)(
  'rows by index through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)('compiles for %s without a spill', { timeout: 120_000 }, async (arch) => {
      expect(await complaints(chosenFor(arch, kernels), arch, () => 0)).toEqual([]);
    });

    test.each(SOME_PLANS)(
      'one text for each entry compiles for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const entries = new Map(kernels.map((one) => [one.kernel.entry, one]));
        expect([...entries.keys()].sort()).toEqual([
          ...['count_rows', 'count_rows_direct', 'gather_rows', 'scatter_atomic', 'scatter_digits'],
          ...['scatter_direct', 'scatter_merge', 'scatter_place', 'scatter_runs', 'scatter_scan'],
        ]);
        expect(await complaints([...entries.values()], arch, () => 0)).toEqual([]);
      },
    );
  },
);
