import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../../testing/h200.test-support.js';
import {
  assemblerLog,
  chosenFor,
  complaints,
  EVERY_PLAN,
  SOME_PLANS,
} from '../../testing/nvrtc-complaints.test-support.js';
import { defaultParameterisedKernels } from '../default-parameterised.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();
const kernels = defaultParameterisedKernels(H200);
const ENTRIES = [
  'pairwise_diagonal',
  'pairwise_dot',
  'pairwise_outer',
  'pairwise_split_reduce',
  'pairwise_tile',
];

test('the kernels are of every kind', () => {
  expect([...new Set(kernels.map(({ kernel }) => kernel.entry))].sort()).toEqual(ENTRIES);
});

describe.skipIf(!available)(
  'pairwise kernels with parameters through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)(
      'every plan compiles for %s without a spill in its loops',
      { timeout: 600_000 },
      async (arch) => {
        expect(await complaints(chosenFor(arch, kernels), arch)).toEqual([]);
      },
    );

    test('every loop of an exponent in memory fits the registers of sm_80', async () => {
      const either = kernels.filter(({ name }) => name.includes('either power'));
      expect(either.length).toBeGreaterThan(3);
      expect(await complaints(either, 'sm_80')).toEqual([]);
    });

    test.each(SOME_PLANS)(
      'one kernel of each kind compiles for %s',
      { timeout: 120_000 },
      async (arch) => {
        for (const entry of ENTRIES) {
          const { kernel } = kernels.find((named) => named.kernel.entry === entry) ?? {};
          await assemblerLog(kernel?.source ?? '', arch);
        }
      },
    );
  },
);
