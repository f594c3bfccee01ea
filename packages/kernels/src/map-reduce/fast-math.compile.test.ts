import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { emitMapReduce } from './emit.js';
import { FAST_CASES } from './fast-math-reductions.test-support.js';
import { planMapReduce } from './plan.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'fastMath through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(FAST_CASES)('%s', { timeout: 120_000 }, async (_, one) => {
      const plan = planMapReduce({ ...one, batch: 1 }, H200);
      for (const { kernel } of emitMapReduce(plan).steps) {
        if (kernel.dialect !== 'cuda') throw new Error('no CUDA kernel');
        const options = ['--gpu-architecture=sm_90a', '--ptxas-options=-v'];
        const { log } = await nvrtc.compile({ source: kernel.source, options });
        expect(log).toContain('registers');
        expect(log).not.toContain('warning');
      }
    });
  },
);
