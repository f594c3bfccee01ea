import { cuda } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { everyOpKernel } from '../emit/every-op-kernel.test-support.js';
import { runGpuProgram } from '../testing/gpu-program.test-support.js';
import {
  compareFunctions,
  FUNCTION_EXPRESSIONS,
  functionData,
} from './function-cases.test-support.js';

useNvrtc();
const indices = cuda.isAvailable() ? [0] : [];

if (indices.length === 0) {
  test.skip('GPU tests: no CUDA device', () => undefined);
}

describe.each(indices)('functions on cuda:%i', (index) => {
  const device = cuda.device(index);

  test.each(['float32', 'float64'] as const)('hold their bounds, %s', async (dtype) => {
    const { x, y } = functionData(dtype);
    const values = dtype === 'float32' ? Float32Array : Float64Array;
    const out = new values(FUNCTION_EXPRESSIONS.length * x.length);
    const kernel = everyOpKernel(dtype, false, FUNCTION_EXPRESSIONS);
    await runGpuProgram(
      device,
      { steps: [{ kernel }], workspaceBytes: () => 0 },
      {
        scalars: { n: x.length, p: 0, q: 0 },
        pointers: { a: new values(x), b: new values(y), out },
      },
    );
    expect(compareFunctions(dtype, 'cuda', out).slice(0, 20)).toEqual([]);
  });
});
