import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { PAIR_TILE_GATHER_CASES } from './gather-cases.test-support.js';

describe('rows by index in formulas of long vectors on a GPU', () => {
  test.each(PAIR_TILE_GATHER_CASES.map(([name, one], n) => [name, one, n] as const))(
    '%s',
    (_, one, n) => {
      const dtype = n % 4 === 1 ? 'float64' : 'float32';
      // many pairs a thread in every other plan
      const planned = n % 2 === 0 ? { planned: { rowsI: 100_000, rowsJ: 100_000 } } : {};
      checkMapReduce({ ...one, ...planned, dtype }, H200, runCudaProgram);
      expect.assertions(1);
    },
  );
});
