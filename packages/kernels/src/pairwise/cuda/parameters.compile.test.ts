import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../../testing/h200.test.helper.js';
import { defaultParameterisedKernels } from '../default-parameterised.js';

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

/**
 * Bytes that a float64 kernel may keep in memory, once: a division in double precision is a call in
 * fixed registers, and what is alive around it gives way.
 */
const AROUND_CALLS = 64;

async function compile(source: string, arch: string): Promise<string> {
  const options = [`--gpu-architecture=${arch}`, '--ptxas-options=-v'];
  return (await nvrtc.compile({ source, options })).log;
}

test('the kernels are of every kind', () => {
  expect([...new Set(kernels.map(({ kernel }) => kernel.entry))].sort()).toEqual(ENTRIES);
});

describe.skipIf(!available)(
  'pairwise kernels with parameters through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120'])(
      'every plan compiles for %s without a spill in its loops',
      { timeout: 600_000 },
      async (arch) => {
        const complaints: string[] = [];
        for (const { name, kernel } of kernels) {
          const log = await compile(kernel.source, arch);
          expect(log).toContain('registers');
          for (const line of log.split('\n')) {
            const spilled = Number(/(\d+) bytes spill stores/.exec(line)?.[1] ?? 0);
            const allowed = name.includes('float64') ? AROUND_CALLS : 0;
            if (spilled > allowed || line.includes('warning')) {
              complaints.push(`${name}: ${line.trim()}`);
            }
          }
        }
        expect(complaints).toEqual([]);
      },
    );

    test.each(['sm_80', 'sm_86', 'sm_89', 'sm_100'])(
      'one kernel of each kind compiles for %s',
      { timeout: 120_000 },
      async (arch) => {
        for (const entry of ENTRIES) {
          const { kernel } = kernels.find((named) => named.kernel.entry === entry) ?? {};
          expect(await compile(kernel?.source ?? '', arch)).toContain('registers');
        }
      },
    );
  },
);
