import { REDUCTION_KINDS } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runInterpretedProgram } from '../testing/cpu-program.test-support.js';
import { checkMapReduce } from '../map-reduce/map-reduce-check.test-support.js';
import { missingPairs } from '../../../formula/test/missing-pairs.mjs';
import { AXES, caseOf, DIMS, everyPair, NUMBERS } from '../map-reduce/loops/cases.test-support.js';

const limits = {
  ...cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2'),
  interpreted: true,
} as const;

const CASES = everyPair(DIMS);

describe('dims of the interpreter', () => {
  test('meet every reduction, as points and as results, and both axes and all types of numbers', () => {
    const others = { kind: REDUCTION_KINDS, axis: AXES, numbers: NUMBERS };
    expect(missingPairs(CASES, { inner: DIMS, ...others })).toEqual([]);
    expect(missingPairs(CASES, { outer: DIMS, ...others })).toEqual([]);
  });

  test.each(DIMS)('points of dim %i', (dim) => {
    for (const one of CASES.filter(({ inner }) => inner === dim)) {
      checkMapReduce({ ...caseOf(one), rowsI: 5, rowsJ: 7 }, limits, runInterpretedProgram);
    }
  });
});
