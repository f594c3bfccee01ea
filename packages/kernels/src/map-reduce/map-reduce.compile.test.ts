import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { chosenFor, complaints, EVERY_PLAN } from '../testing/nvrtc-complaints.test-support.js';
import { defaultMapReduceKernels } from './default-map-reduce.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultMapReduceKernels(H200);
/** Totals of rows and of columns rest in memory between two merges, once in 256 rows. */
function restingBytes(name: string): number {
  // the last components of 100 are fewer than a copy holds
  if (name.includes('i 100 ')) return 384;
  if (name.includes('Sum over j of 256')) return 512;
  if (name.includes('loops')) return 128;
  return name.includes('float64') ? 64 : 0;
}

describe.skipIf(!available)(
  'map-reduce through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)('compiles for %s without a spill', { timeout: 300_000 }, async (arch) => {
      expect(await complaints(chosenFor(arch, kernels), arch, restingBytes)).toEqual([]);
    });
  },
);
