import { reduction } from '@mercer/formula';
import { describe, test } from 'vitest';
import { checkMapReduce } from '../map-reduce/map-reduce-check.test-support.js';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { CASES, fill, operandsOf, PARAMETER_CASES } from './gradient-cases.test-support.js';
import { parameterGradientFormulas, rowsGradientFormula } from './gradient-formula.js';

describe('sums of the formulas of gradients in the emulator', () => {
  const sizes = [
    [37, 130, 3],
    [20, 70, 40],
  ] as const;

  test.each(CASES)('rows: $name', ({ forward, dtype }) => {
    for (const [rowsI, rowsJ, k] of sizes) {
      const sum = reduction('Sum', rowsGradientFormula(forward, dtype, operandsOf(k)));
      checkMapReduce(
        { reduction: sum, dtype, rowsI, rowsJ, fill, units: 64 },
        H200,
        runCudaProgram,
      );
    }
  });

  test.each(PARAMETER_CASES)('parameters: $name', ({ forward, dtype, names }) => {
    for (const [rowsI, rowsJ, k] of sizes) {
      const formulas = parameterGradientFormulas(forward, names, dtype, operandsOf(k));
      for (const formula of formulas) {
        const accumulate = dtype === 'float32' ? 'float64' : undefined;
        const sum = { reduction: reduction('Sum', formula), accumulate } as const;
        checkMapReduce({ ...sum, dtype, rowsI, rowsJ, fill, units: 64 }, H200, runCudaProgram);
      }
    }
  });
});
