import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { BINS_CASES } from './bins-cases.test-support.js';

describe('sums with components in memory, on a GPU', () => {
  test.each(BINS_CASES)('%s', (_, one) => {
    checkMapReduce(one, H200, runCudaProgram);
    expect.assertions(1);
  });
});
