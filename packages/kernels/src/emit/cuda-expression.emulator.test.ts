import { describe, expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { everyOpKernel } from './every-op-kernel.test-support.js';
import { ALL, compare, expected, SCALARS } from './every-op.test-support.js';

describe.each(['float32', 'float64'] as const)('expressions in CUDA, emulated, %s', (dtype) => {
  test.each([
    ['as in an epilogue', false, { denormals: 'powers', roots: 0 }],
    ['with approximate roots and exponentials', true, { denormals: 'roots', roots: 2 }],
  ] as const)('mean what the evaluator says, %s', (_, approximate, relaxed) => {
    const kernel = everyOpKernel(dtype, approximate);
    const { x, y } = expected(dtype);
    const values = dtype === 'float32' ? Float32Array : Float64Array;
    const out = new values(ALL.length * x.length);
    runCudaKernel(kernel, {
      scalars: { n: x.length, ...SCALARS },
      options: { check: false },
      pointers: [new values(x), new values(y), out],
    });
    expect(compare(dtype, out, relaxed).slice(0, 20)).toEqual([]);
  });
});
