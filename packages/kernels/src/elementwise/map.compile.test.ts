import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { emitCopyPieces } from './copy-pieces.js';
import { emitRepeats } from './repeats.js';
import { defaultMaps, defaultSums } from './default-maps.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const single = [emitCopyPieces(), emitRepeats()].map((kernel) => ({ name: kernel.name, kernel }));
const kernels = [...defaultMaps(H200), ...defaultSums(H200), ...single];

describe.skipIf(!available)(
  'maps, sums and copies of pieces through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const some =
          arch === 'sm_90a' || arch === 'sm_120' ? kernels : kernels.filter((_, i) => i % 4 === 2);
        expect(await complaints(some, arch)).toEqual([]);
      },
    );
  },
);
