import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { everyOpKernel } from '../emit/every-op-kernel.test.helper.js';
import { assemblerLog } from '../testing/nvrtc-complaints.test.helper.js';
import { FUNCTION_CASES, FUNCTION_EXPRESSIONS } from './function-cases.test.helper.js';

useNvrtc();

/** Times the compile time of a one-line kernel that a kernel with one function may take. */
const COMPILE_FACTOR = 8;

describe.skipIf(!nvrtc.isAvailable())(
  'functions through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120'])(
      'compile for %s without a warning',
      { timeout: 120_000 },
      async (arch) => {
        for (const dtype of ['float32', 'float64'] as const) {
          const { source } = everyOpKernel(dtype, false, FUNCTION_EXPRESSIONS);
          expect(await assemblerLog(source, arch)).not.toContain('warning');
        }
      },
    );

    test(
      `each takes at most ${String(COMPILE_FACTOR)} times a one-line kernel`,
      { timeout: 120_000 },
      async () => {
        let count = 0;
        // the least of three: another process may have the cores meanwhile
        const time = async (source: string): Promise<number> => {
          const times: number[] = [];
          while (times.length < 3) {
            const start = performance.now();
            const text = `${source} // ${String(count++)}`;
            await nvrtc.compile({ source: text, options: ['--gpu-architecture=sm_90a'] });
            times.push(performance.now() - start);
          }
          return Math.min(...times);
        };
        const oneLine = await time(
          'extern "C" __global__ void one(float* x) { x[threadIdx.x] *= 2.0f; }',
        );
        const long: string[] = [];
        for (const [n, { fn, attributes }] of FUNCTION_CASES.entries()) {
          // one order of each function, the last that is listed
          if (FUNCTION_CASES[n + 1]?.fn === fn) continue;
          const { source } = everyOpKernel('float32', false, FUNCTION_EXPRESSIONS.slice(n, n + 1));
          const factor = (await time(source)) / oneLine;
          if (factor > COMPILE_FACTOR)
            long.push(`${fn} ${attributes.join()}: ${factor.toFixed(1)}`);
        }
        expect(long).toEqual([]);
      },
    );
  },
);
