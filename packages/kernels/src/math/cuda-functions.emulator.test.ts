import { describe, expect, test } from 'vitest';
import { everyOpKernel } from '../emit/every-op-kernel.test-support.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import {
  compareFunctions,
  FUNCTION_EXPRESSIONS,
  functionData,
} from './function-cases.test-support.js';

describe.each(['float32', 'float64'] as const)('functions in CUDA, emulated, %s', (dtype) => {
  test('hold their bounds', () => {
    const { x, y } = functionData(dtype);
    const values = dtype === 'float32' ? Float32Array : Float64Array;
    const out = new values(FUNCTION_EXPRESSIONS.length * x.length);
    runCudaKernel(everyOpKernel(dtype, false, FUNCTION_EXPRESSIONS), {
      scalars: { n: x.length, p: 0, q: 0 },
      options: { check: false },
      pointers: [new values(x), new values(y), out],
    });
    expect(compareFunctions(dtype, 'cuda', out).slice(0, 20)).toEqual([]);
  });
});
