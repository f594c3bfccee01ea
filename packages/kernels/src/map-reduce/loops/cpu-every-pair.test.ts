import { REDUCTION_KINDS } from '@mercer/formula';
import { expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { missingPairs } from '../../../../formula/test/missing-pairs.mjs';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { AXES, caseOf, COVERING_PAIRS, DIMS, NUMBERS } from './cases.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);

// every dim meets every reduction in interpreted-dims.test.ts, and here with MERCER_TEST_FULL=1
test('each dim and each reduction meets both axes and all types of numbers', () => {
  const others = { axis: AXES, numbers: NUMBERS };
  for (const of of [{ inner: DIMS }, { outer: DIMS }, { kind: REDUCTION_KINDS }]) {
    expect(missingPairs(COVERING_PAIRS, { ...of, ...others })).toEqual([]);
  }
});

// not optimized, which is what most of the time goes into: the sweep in cpu-pair-tile.test.ts is
test.each(DIMS)('reductions of points of dim %i', (dim) => {
  for (const one of COVERING_PAIRS.filter(({ inner }) => inner === dim)) {
    checkMapReduce({ ...caseOf(one), rowsI: 19, rowsJ: 13 }, limits, (program, launch) => {
      runCpuProgram(program, launch, level, { optimized: false });
    });
  }
});
