import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { SUM_CASES, SUM_RANGES, SUM_SIZES } from './sum-cases.test-support.js';

describe('sums on a GPU', () => {
  test.each(SUM_CASES)('%s', (name, one) => {
    const all = [...SUM_SIZES.slice(0, 2), ...(name.includes('by blocks') ? [SUM_RANGES] : [])];
    for (const sizes of all) checkMapReduce({ ...one, ...sizes }, H200, runCudaProgram);
    expect.assertions(all.length);
  });
});
