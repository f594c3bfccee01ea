import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { PAIR_TILE_SUM_CASES } from './sum-cases.test-support.js';

describe('sums of long formulas on a GPU', () => {
  test.each(PAIR_TILE_SUM_CASES)('%s', (_, one) => {
    checkMapReduce({ ...one, rowsI: 2, rowsJ: 600 }, H200, runCudaProgram);
    expect.assertions(1);
  });
});
