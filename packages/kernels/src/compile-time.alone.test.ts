import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { defaultPairwiseKernels } from './default-kernels.test-support.js';
import { everyOpKernel } from './emit/every-op-kernel.test-support.js';
import { defaultMapReduceKernels } from './map-reduce/default-map-reduce.test-support.js';
import { FUNCTION_CASES, FUNCTION_EXPRESSIONS } from './math/function-cases.test-support.js';
import type { NamedKernel } from './named-kernel.test-support.js';
import { H200 } from './testing/h200.test-support.js';

useNvrtc();

/** Times the compile time of a one-line kernel that a kernel may take. */
const COMPILE_FACTOR = 8;
/** Kernels of a family whose median is taken. */
const SAMPLE = 24;
const ONE_LINE = 'extern "C" __global__ void one(float* x) { x[threadIdx.x] *= 2.0f; }';

let count = 0;

/** Processor time of a compile, in microseconds: what else runs on the machine is not in it. No text is compiled a second time. */
async function time(source: string): Promise<number> {
  const start = process.cpuUsage();
  const text = `${source} // ${count++}`;
  await nvrtc.compile({ source: text, options: ['--gpu-architecture=sm_90a'] });
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

async function median(sources: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (const source of sources) times.push(await time(source));
  return times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
}

/** Kernels spread over a family. */
function sampleOf(kernels: readonly NamedKernel[]): readonly string[] {
  const step = Math.floor(kernels.length / SAMPLE);
  return Array.from({ length: SAMPLE }, (_, i) => kernels[i * step]?.kernel.source ?? '');
}

describe.skipIf(!nvrtc.isAvailable())(
  'compile time through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each([
      ['pairwise', defaultPairwiseKernels],
      ['map-reduce', defaultMapReduceKernels],
    ] as const)(
      `half of the %s kernels take at most ${COMPILE_FACTOR} times a one-line kernel`,
      { timeout: 120_000 },
      async (_, defaults) => {
        const oneLine = await median(Array.from({ length: 9 }, () => ONE_LINE));
        const all = await median(sampleOf(defaults(H200)));
        expect(all / oneLine).toBeLessThanOrEqual(COMPILE_FACTOR);
      },
    );

    test(
      `each function takes at most ${COMPILE_FACTOR} times a one-line kernel`,
      { timeout: 120_000 },
      async () => {
        // the lesser of two: the collector may run meanwhile
        const least = async (source: string): Promise<number> =>
          Math.min(await time(source), await time(source));
        const oneLine = await least(ONE_LINE);
        const long: string[] = [];
        for (const [n, { fn, attributes }] of FUNCTION_CASES.entries()) {
          // one order of each function, the last that is listed
          if (FUNCTION_CASES[n + 1]?.fn === fn) continue;
          const { source } = everyOpKernel('float32', false, FUNCTION_EXPRESSIONS.slice(n, n + 1));
          const factor = (await least(source)) / oneLine;
          if (factor > COMPILE_FACTOR)
            long.push(`${fn} ${attributes.join()}: ${factor.toFixed(1)}`);
        }
        expect(long).toEqual([]);
      },
    );
  },
);
