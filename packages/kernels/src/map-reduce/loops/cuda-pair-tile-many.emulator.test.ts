import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { SUM_RANGES } from '../sum-cases.test-support.js';
import { PAIR_TILE_MANY_CASES } from './many-cases.test-support.js';

describe('several reductions of long formulas on a GPU', () => {
  test.each(PAIR_TILE_MANY_CASES.map(([name, one], n) => [name, one, n] as const))(
    '%s',
    (_, one, n) => {
      // many pairs a thread in every other plan, parts of the reduced rows in the others
      const planned = n % 2 === 0 ? { rowsI: 100_000, rowsJ: 100_000 } : { rowsI: 19, rowsJ: 3000 };
      const sizes = one.ranges === undefined ? { rowsI: 19, rowsJ: 150 } : SUM_RANGES;
      checkMapReduce({ ...one, ...sizes, planned }, H200, runCudaProgram);
      expect.assertions(1);
    },
  );
});
