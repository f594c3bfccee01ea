import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { ARCHITECTURES, chosenFor, complaints } from '../testing/nvrtc-complaints.test-support.js';
import { emitCopyPieces } from './copy-pieces.js';
import { emitRepeats } from './repeats.js';
import { defaultMaps, defaultSums } from './default-maps.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const single = [emitCopyPieces(), emitRepeats()].map((kernel) => ({ name: kernel.name, kernel }));
const kernels = [...defaultMaps(H200), ...defaultSums(H200), ...single];
const some = kernels.filter((_, i) => i % 4 === 2);

describe.skipIf(!available)(
  'maps, sums and copies of pieces through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(ARCHITECTURES)(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        expect(await complaints(chosenFor(arch, kernels, some), arch)).toEqual([]);
      },
    );
  },
);
