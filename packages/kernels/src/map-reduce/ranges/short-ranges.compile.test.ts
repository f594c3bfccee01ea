import { ops, reduction, vi, vj } from '@mercer/formula';
import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { distinctKernels } from '../../named-kernel.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { chosenFor, complaints, EVERY_PLAN } from '../../testing/nvrtc-complaints.test-support.js';
import { emitMapReduce } from '../emit.js';
import { planMapReduce } from '../plan.js';

useNvrtc();
const gaussian = ops.exp(ops.neg(ops.sqDist(vi(0, 3), vj(1, 3))));
const PROBLEMS = [
  reduction('Sum', ops.mul(gaussian, vj(2, 1))),
  reduction('Sum', ops.mul(gaussian, vj(2, 1)), { axis: 0 }),
  reduction('LogSumExp', ops.neg(ops.sqDist(vi(0, 3), vj(1, 3)))),
  reduction('ArgKMin', ops.sqDist(vi(0, 3), vj(1, 3)), { k: 5 }),
  reduction('Sum', ops.mul(ops.exp(ops.neg(ops.sqDist(vi(0, 20), vj(1, 20)))), vj(2, 3))),
];

describe.skipIf(!nvrtc.isAvailable())(
  'short ranges through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)('compile for %s without a spill', { timeout: 300_000 }, async (arch) => {
      const programs = PROBLEMS.flatMap((one) =>
        ([32, 64, 128] as const).map((rangeRows) =>
          emitMapReduce(
            planMapReduce(
              {
                reduction: one,
                dtype: 'float32',
                ranges: true,
                rangeRows,
                rowsI: 1e6,
                rowsJ: 1e6,
                batch: 1,
              },
              H200,
            ),
          ),
        ),
      );
      expect(await complaints(chosenFor(arch, distinctKernels(programs)), arch)).toEqual([]);
    });
  },
);
