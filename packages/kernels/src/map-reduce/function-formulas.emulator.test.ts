import { describe, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test.helper.js';
import { H200 } from '../testing/h200.test.helper.js';
import { FUNCTION_FORMULAS } from './function-formulas.test.helper.js';
import { checkMapReduce } from './map-reduce-check.test.helper.js';

describe('map-reduce of formulas with functions on a GPU', () => {
  // half of them: every function has a comparison of its own
  const some = FUNCTION_FORMULAS.filter((_, n) => n % 2 === 1);
  test.each(some.map((one, n) => [...one, n] as const))('%s', (_, one, n) => {
    const dtype = n % 3 === 1 ? 'float64' : 'float32';
    checkMapReduce({ ...one, dtype, rowsI: 37, rowsJ: 61 }, H200, runCudaProgram);
  });
});
