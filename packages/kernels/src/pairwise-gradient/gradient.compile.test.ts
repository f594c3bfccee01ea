import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { assemblerLog } from '../testing/nvrtc-complaints.test-support.js';
import { defaultGradientKernels } from './default-gradient-kernels.test-support.js';

useNvrtc();

const kernels = defaultGradientKernels(H200);

/** What the assembler says that a good kernel never does. */
function complaints(name: string, log: string): string[] {
  return log
    .split('\n')
    .filter((line) => /[1-9]\d* bytes (spill|stack frame)|warning/.test(line))
    .map((line) => `${name}: ${line.trim()}`);
}

describe.skipIf(!nvrtc.isAvailable())(
  'gradient kernels through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test(
      'every default plan compiles for sm_90a without a spill',
      { timeout: 300_000 },
      async () => {
        const problems: string[] = [];
        for (const { name, kernel } of kernels) {
          problems.push(...complaints(name, await assemblerLog(kernel.source, 'sm_90a')));
        }
        expect(problems).toEqual([]);
      },
    );

    test.each(['sm_80', 'sm_120'])(
      'one kernel of each kind compiles for %s',
      { timeout: 120_000 },
      async (arch) => {
        const byKind = new Map(
          kernels.map(({ name, kernel }) => [name.replace(/ tile.*/, ''), kernel]),
        );
        expect(byKind.size).toBeGreaterThan(4);
        for (const kernel of byKind.values()) {
          await assemblerLog(kernel.source, arch);
        }
      },
    );
  },
);
