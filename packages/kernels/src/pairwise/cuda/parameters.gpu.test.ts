import { cuda } from '@mercer/cuda-runtime';
import { describe, test } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../../testing/h200.test-support.js';
import { runGpuProgram } from '../../testing/gpu-program.test-support.js';
import { cudaParameterCases } from '../../testing/cuda-parameter-cases.test-support.js';
import { parameterLaunch } from '../../testing/parameter-check.test-support.js';
import { ROWS_CASES, rowsLaunch } from '../../rows/rows-check.test-support.js';
import { emitPairwise } from '../emit.js';

useNvrtc();
const indices = cuda.isAvailable() ? [0] : [];
const cases = cudaParameterCases().map((one) => [one.name, one] as const);

if (indices.length === 0) {
  test.skip('GPU tests: no CUDA device', () => undefined);
}

describe.each(indices)('on cuda:%i', (index) => {
  const device = cuda.device(index);

  test.each(cases)('%s', async (_, { plan, problem, family, shapes }) => {
    for (const shape of shapes) {
      const { launch, verify } = parameterLaunch(plan, problem, family, shape);
      await runGpuProgram(device, emitPairwise(plan), launch);
      verify();
    }
  });

  test.each(ROWS_CASES)('rows: %o, scale by %s', async (problem, form) => {
    const { program, launch, verify } = rowsLaunch(problem, form, H200);
    await runGpuProgram(device, program, launch);
    verify();
  });
});
