import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { defaultPairwiseKernels } from '../../default-kernels.test-support.js';
import { cudaLimitKernels } from '../../limits/cuda-limit-kernels.js';
import type { NamedKernel } from '../../named-kernel.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import {
  assemblerLog,
  chosenFor,
  EVERY_PLAN,
  SOME_PLANS,
} from '../../testing/nvrtc-complaints.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();

const kernels = defaultPairwiseKernels(H200);
const limits = cudaLimitKernels(H200).map(({ kernel }) => ({ name: kernel.name, kernel }));

/** What the assembler says that a good kernel never does. */
function complaints({ name }: NamedKernel, log: string): string[] {
  const lines = log.split('\n');
  const spills = lines.filter((line) => /[1-9]\d* bytes (spill|stack frame)/.test(line));
  const warnings = lines.filter((line) => line.includes('warning'));
  return [...spills, ...warnings].map((line) => `${name}: ${line.trim()}`);
}

describe.skipIf(!available)(
  'pairwise kernels through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)(
      'every default plan compiles for %s without a spill',
      { timeout: 600_000 },
      async (arch) => {
        const problems: string[] = [];
        for (const named of chosenFor(arch, [...kernels, ...limits])) {
          problems.push(...complaints(named, await assemblerLog(named.kernel.source, arch)));
        }
        expect(problems).toEqual([]);
      },
    );

    test.each(SOME_PLANS)(
      'one kernel of each kind compiles for %s',
      { timeout: 120_000 },
      async (arch) => {
        const byEntry = new Map(kernels.map((named) => [named.kernel.entry, named]));
        expect([...byEntry.keys()].sort()).toEqual([
          'pairwise_dot',
          'pairwise_outer',
          'pairwise_split_reduce',
          'pairwise_tile',
        ]);
        for (const { kernel } of byEntry.values()) {
          await assemblerLog(kernel.source, arch);
        }
      },
    );
  },
);
