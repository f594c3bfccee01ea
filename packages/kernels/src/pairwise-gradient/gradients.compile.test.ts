import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { assemblerLog } from '../testing/nvrtc-complaints.test-support.js';
import { defaultGradientKernels } from './default-gradients.test-support.js';

useNvrtc();

// Those of float64 keep twice as many registers and may spill a little, as all kernels with loops over long vectors do.
const kernels = defaultGradientKernels(H200).filter(({ name }) => name.includes('float32'));

/** What the assembler says that a good kernel never does. */
function complaints(name: string, log: string): string[] {
  return log
    .split('\n')
    .filter((line) => /[1-9]\d* bytes (spill|stack frame)|warning/.test(line))
    .map((line) => `${name}: ${line.trim()}`);
}

describe.skipIf(!nvrtc.isAvailable())(
  'kernels of gradients through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test(
      'every default plan of float32 compiles for sm_90a without a spill',
      { timeout: 300_000 },
      async () => {
        const problems: string[] = [];
        for (const { name, kernel } of kernels) {
          problems.push(...complaints(name, await assemblerLog(kernel.source, 'sm_90a')));
        }
        expect(problems).toEqual([]);
      },
    );
  },
);
