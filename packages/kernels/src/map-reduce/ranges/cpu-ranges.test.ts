import { expect, test } from 'vitest';
import { indexJ, ops, reduction, REDUCTION_KINDS, vi } from '@mercer/formula';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { emitMapReduce } from '../emit.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { planMapReduce } from '../plan.js';
import { planRanges } from './plan-ranges.js';
import { RANGE_CASES, SHORT_SPANS } from './ranges-cases.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);

test.each(RANGE_CASES.map((one, n) => [...one, n] as const))(
  'ranges on the CPU: %s',
  (_, one, n) => {
    const dtype = n % 2 === 0 ? 'float32' : 'float64';
    checkMapReduce({ ...one, dtype }, limits, runCpuProgram);
    // a vector of rows a task
    checkMapReduce({ ...one, dtype, planned: { rowsI: 8, rowsJ: 8 } }, limits, runCpuProgram);
    expect.assertions(2);
  },
);

test('short spans are summed together', () => {
  checkMapReduce({ ...SHORT_SPANS, dtype: 'float32' }, limits, runCpuProgram);
});

test('row numbers in a formula are those of the whole input', () => {
  const sum = reduction('Sum', ops.mul(vi(0, 1), indexJ));
  const problem = { reduction: sum, dtype: 'float64', ranges: true, batch: 1 } as const;
  const plan = planMapReduce({ ...problem, rowsI: 2, rowsJ: 100 }, limits);
  const ranges = { rangesI: [[1, 2]], slicesI: [1], redrangesJ: [[97, 100]] } as const;
  const { taskCount, ...arrays } = planRanges(plan, ranges, 2, 100);
  const out = new Float64Array(2).fill(NaN);
  runCpuProgram(emitMapReduce(plan), {
    scalars: { rowsI: 2, rowsJ: 100, batch: 1, taskCount, ld0: 1, batchStride0: 0 },
    pointers: { x0: Float64Array.of(5, 2), out, ...arrays },
  });
  expect([...out]).toEqual([0, 2 * (97 + 98 + 99)]);
});

test('every reduction has a case', () => {
  const kinds = RANGE_CASES.flatMap(([, { reduction: first, further = [] }]) =>
    [first, ...further].map(({ kind }) => kind),
  );
  const missing = REDUCTION_KINDS.filter((kind) => !kinds.includes(kind));
  // the other halves of pairs that are there
  expect(missing.sort()).toEqual(['ArgKMin', 'KMax', 'KMaxArgKMax']);
});
