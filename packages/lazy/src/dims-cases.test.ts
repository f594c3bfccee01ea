import { REDUCTION_KINDS } from '@mercer/formula';
import { expect, it } from 'vitest';
import { missingPairs } from '../../formula/test/missing-pairs.mjs';
import { AXES, dimCases, DIMS, NUMBERS } from './dims-suite.test-support.js';

it('the dims of a GPU cover all pairs of dims, reductions, sides and types of numbers', () => {
  const cases = DIMS.flatMap((_, at) => dimCases(at));
  const others = { kind: REDUCTION_KINDS, axis: AXES, numbers: NUMBERS };
  expect(cases).toHaveLength(DIMS.length * REDUCTION_KINDS.length);
  expect(missingPairs(cases, { inner: DIMS, ...others })).toEqual([]);
  expect(missingPairs(cases, { outer: DIMS, ...others })).toEqual([]);
});
