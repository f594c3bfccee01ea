import { ops, reduction, vi, vj, type VectorExpr } from '@mercer/formula';
import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../../testing/h200.test-support.js';
import { covering } from '../../../../formula/test/covering.mjs';
import { assemblerLog } from '../../testing/nvrtc-complaints.test-support.js';
import { emitMapReduce } from '../emit.js';
import { planMapReduce } from '../plan.js';

useNvrtc();
const available = nvrtc.isAvailable();

/** A sum over distances of different dims: a loop for each. */
const distances = (count: number): VectorExpr =>
  Array.from({ length: count }, (_, n) =>
    ops.exp(ops.neg(ops.sqDist(vi(2 * n, 60 + 7 * n), vj(2 * n + 1, 60 + 7 * n)))),
  ).reduce((sum, one) => ops.add(sum, one));

const plan = (
  count: number,
  kind: 'Sum' | 'KMinArgKMin',
  dtype: 'float32' | 'float64',
  rows: number,
) =>
  planMapReduce(
    {
      reduction: reduction(kind, distances(count), kind === 'Sum' ? {} : { k: 10 }),
      dtype,
      rowsI: rows,
      rowsJ: rows,
      batch: 1,
    },
    H200,
  );

describe('formulas with several long sums on a GPU', () => {
  test('have a plan however many sums there are', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      expect(plan(70, 'Sum', dtype, 1000)).toMatchObject({ keptPerThread: 1, reducedPerThread: 1 });
    }
  });

  // each case meets both dtypes and both sizes, and each dtype both sizes
  const sized = (['float32', 'float64'] as const).flatMap((dtype) =>
    [1000, 20_000].map((rows) => [dtype, rows] as const),
  );
  test.skipIf(!available).each([
    [2, 'Sum', 0],
    [3, 'Sum', 1],
    [3, 'KMinArgKMin', 0],
    [5, 'Sum', 0],
    [5, 'KMinArgKMin', 1],
    [40, 'Sum', 1],
  ] as const)(
    '%i sums and %s fit shared memory (skipped only without NVRTC)',
    { timeout: 120_000 },
    async (count, kind, turn) => {
      const chosen =
        count === 40 ? sized.filter(([, rows]) => rows === 1000) : covering(sized, turn);
      for (const [dtype, rows] of chosen) {
        const [first] = emitMapReduce(plan(count, kind, dtype, rows)).steps;
        expect(await assemblerLog(first?.kernel.source ?? '', 'sm_90a')).toContain('bytes smem');
      }
    },
  );
});
