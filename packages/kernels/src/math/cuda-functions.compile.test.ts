import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { everyOpKernel } from '../emit/every-op-kernel.test-support.js';
import { assemblerLog } from '../testing/nvrtc-complaints.test-support.js';
import { FUNCTION_EXPRESSIONS } from './function-cases.test-support.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'functions through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120'])(
      'compile for %s without a warning',
      { timeout: 120_000 },
      async (arch) => {
        // both data types have the same double-precision text
        const dtypes =
          arch === 'sm_90a' ? (['float32', 'float64'] as const) : (['float32'] as const);
        for (const dtype of dtypes) {
          const { source } = everyOpKernel(dtype, false, FUNCTION_EXPRESSIONS);
          expect(await assemblerLog(source, arch)).not.toContain('warning');
        }
      },
    );
  },
);
