import { REDUCTION_KINDS } from '@mercer/formula';
import { expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { missingPairs } from '../../../../formula/test/missing-pairs.mjs';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { AXES, caseOf, DIMS, everyPair, NUMBERS } from './cases.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);
const CASES = everyPair(DIMS);

test('the cases cover all pairs of dims, reductions, axes and types of numbers', () => {
  const others = { kind: REDUCTION_KINDS, axis: AXES, numbers: NUMBERS };
  expect(missingPairs(CASES, { inner: DIMS, ...others })).toEqual([]);
  expect(missingPairs(CASES, { outer: DIMS, ...others })).toEqual([]);
});

// not optimized, which is what most of the time goes into: the sweep in cpu-pair-tile.test.ts is
test.each(DIMS)('every reduction of points of dim %i', (dim) => {
  for (const one of CASES.filter(({ inner }) => inner === dim)) {
    checkMapReduce({ ...caseOf(one), rowsI: 19, rowsJ: 13 }, limits, (program, launch) => {
      runCpuProgram(program, launch, level, { optimized: false });
    });
  }
});
