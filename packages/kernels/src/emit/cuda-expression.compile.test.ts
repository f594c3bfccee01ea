import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { everyOpKernel } from './every-op-kernel.test-support.js';
import { fastMathKernel } from './fast-math-cases.test-support.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'expressions through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_80', 'sm_90a', 'sm_120'])(
      'every operation compiles for %s without a warning',
      { timeout: 120_000 },
      async (arch) => {
        const kernels = [
          everyOpKernel('float32', arch === 'sm_90a'),
          everyOpKernel('float64', arch === 'sm_90a'),
          fastMathKernel(),
        ];
        for (const { source } of kernels) {
          const options = [`--gpu-architecture=${arch}`, '--ptxas-options=-v'];
          const { log } = await nvrtc.compile({ source, options });
          expect(log).toContain('registers');
          expect(log).not.toContain('warning');
        }
      },
    );
  },
);
