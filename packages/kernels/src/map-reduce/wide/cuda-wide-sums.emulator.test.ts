import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test.helper.js';
import { H200 } from '../../testing/h200.test.helper.js';
import { checkMapReduce } from '../map-reduce-check.test.helper.js';
import { WIDE_SUM_CASES } from './wide-sum-cases.test.helper.js';

describe('sums of long formulas on a GPU', () => {
  test.each(WIDE_SUM_CASES)('%s', (_, one) => {
    checkMapReduce({ ...one, rowsI: 2, rowsJ: 600 }, H200, runCudaProgram);
    expect.assertions(1);
  });
});
