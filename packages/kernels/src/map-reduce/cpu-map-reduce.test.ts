import { reduction } from '@mercer/formula';
import { describe, test } from 'vitest';
import { runnableLevels } from '../testing/cpu-harness.test.helper.js';
import { runCpuProgram } from '../testing/cpu-program.test.helper.js';
import { FORM_CASES, gaussian, KIND_CASES, SIZES } from './map-reduce-cases.test.helper.js';
import { checkMapReduce } from './map-reduce-check.test.helper.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const;
const planned = { rowsI: 1000, rowsJ: 1000 };

describe.each(['float32', 'float64'] as const)('map-reduce on the CPU, %s', (dtype) => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 33])('sums, points of dim %i', (dim) => {
    const one = { reduction: reduction('Sum', gaussian(dim)), dtype, units: 8 + 4 * dim, planned };
    for (const sizes of SIZES) checkMapReduce({ ...one, ...sizes }, limits, runCpuProgram);
  });

  test.each([...KIND_CASES, ...FORM_CASES])('%s', (_, one) => {
    for (const sizes of SIZES) {
      checkMapReduce({ ...one, ...sizes, dtype, planned }, limits, runCpuProgram);
    }
  });

  test('few rows, many terms', () => {
    const one = { reduction: reduction('Sum', gaussian(2)), dtype, units: 16 };
    checkMapReduce({ ...one, rowsI: 2, rowsJ: 20_000 }, limits, runCpuProgram);
  });
});
