import { nvrtc } from '@mercer/cuda-runtime';
import { beforeAll, describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { defaultPairwiseKernels } from '../../default-kernels.js';
import { cudaLimitKernels } from '../../limits/cuda-limit-kernels.js';
import type { NamedKernel } from '../../named-kernel.js';
import { H200 } from '../../testing/h200.test.helper.js';

useNvrtc();
const available = nvrtc.isAvailable();
const EVERY_PLAN = ['sm_90a', 'sm_120'];
const ONE_PER_PLAN = ['sm_80', 'sm_86', 'sm_89', 'sm_100'];
/** Times the compile time of a one-line kernel that a kernel may take, in the middle of many. */
const COMPILE_FACTOR = 8;

const kernels = defaultPairwiseKernels(H200);
const limits = cudaLimitKernels(H200).map(({ kernel }) => ({ name: kernel.name, kernel }));

async function compile(source: string, arch: string): Promise<{ log: string; ms: number }> {
  const options = [`--gpu-architecture=${arch}`, '--ptxas-options=-v'];
  const start = performance.now();
  const { log } = await nvrtc.compile({ source, options });
  return { log, ms: performance.now() - start };
}

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
        for (const named of [...kernels, ...limits]) {
          const { log } = await compile(named.kernel.source, arch);
          expect(log).toContain('registers');
          problems.push(...complaints(named, log));
        }
        expect(problems).toEqual([]);
      },
    );

    test.each(ONE_PER_PLAN)(
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
          expect((await compile(kernel.source, arch)).log).toContain('registers');
        }
      },
    );

    describe('time', () => {
      let oneLine = 0;
      const line = 'extern "C" __global__ void one(float* x) { x[threadIdx.x] *= 2.0f; }';
      const median = (values: number[]): number =>
        values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
      beforeAll(async () => {
        const times: number[] = [];
        for (let i = 0; i < 9; i += 1)
          times.push((await compile(`${line} // ${String(i)}`, 'sm_90a')).ms);
        oneLine = median(times);
      });

      test(
        `half of the kernels take at most ${String(COMPILE_FACTOR)} times a one-line kernel`,
        { timeout: 600_000 },
        async () => {
          const times: number[] = [];
          for (const { kernel } of kernels.slice(0, 24))
            times.push((await compile(kernel.source, 'sm_90a')).ms);
          expect(median(times) / oneLine).toBeLessThanOrEqual(COMPILE_FACTOR);
        },
      );
    });
  },
);
