import { describe, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { FUNCTION_FORMULAS } from './function-formulas.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);

describe('map-reduce of formulas with functions on the CPU', () => {
  test.each(FUNCTION_FORMULAS.map((one, n) => [...one, n] as const))('%s', (_, one, n) => {
    const dtype = n % 3 === 2 ? 'float64' : 'float32';
    checkMapReduce({ ...one, dtype, rowsI: 37, rowsJ: 101 }, limits, runCpuProgram);
  });
});
