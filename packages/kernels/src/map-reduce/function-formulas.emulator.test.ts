import { describe, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { FUNCTION_FORMULAS } from './function-formulas.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';

describe('map-reduce of formulas with functions on a GPU', () => {
  // half of them: every function has a comparison of its own
  const some = FUNCTION_FORMULAS.filter((_, n) => n % 2 === 1);
  test.each(some.map((one, n) => [...one, n] as const))('%s', (_, one, n) => {
    const dtype = n % 3 === 1 ? 'float64' : 'float32';
    checkMapReduce({ ...one, dtype, rowsI: 37, rowsJ: 61 }, H200, runCudaProgram);
  });
});
