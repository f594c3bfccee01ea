import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { assemblerLog } from '../testing/nvrtc-complaints.test-support.js';
import { emitMapReduce } from './emit.js';
import { FUNCTION_FORMULAS } from './function-formulas.test-support.js';
import { planMapReduce } from './plan.js';

useNvrtc();

describe.skipIf(!nvrtc.isAvailable())(
  'formulas with functions through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120'])(
      'compile for %s without a warning',
      { timeout: 120_000 },
      async (arch) => {
        for (const [n, [name, { reduction }]] of FUNCTION_FORMULAS.entries()) {
          // every formula for one of both, half of them in each data type
          if ((n % 2 === 0) !== (arch === 'sm_90a')) continue;
          const dtype = n % 4 < 2 ? 'float32' : 'float64';
          const problem = { reduction, dtype, rowsI: 1_000_000, rowsJ: 1000, batch: 1 } as const;
          const [first] = emitMapReduce(planMapReduce(problem, H200)).steps;
          const log = await assemblerLog(first?.kernel.source ?? '', arch);
          expect(log, name).not.toContain('warning');
        }
      },
    );
  },
);
