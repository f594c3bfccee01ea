import { expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import {
  EXACT,
  fastMathInputs,
  fastMathKernel,
  FUNCTIONS,
  rowOf,
  sharesOfBounds,
} from './fast-math-cases.test-support.js';

function run(x: Float32Array, y: Float32Array): Float32Array {
  const out = new Float32Array(FUNCTIONS * x.length);
  runCudaKernel(fastMathKernel(), {
    scalars: { n: x.length, p: 1, q: 1 },
    options: { check: false },
    pointers: [x, y, out],
  });
  return out;
}

// The emulator's instructions are as exact as float32 is: what is shown here is what stands around them.
test('functions of fastMath keep their bounds', () => {
  const inputs = fastMathInputs(1 << 14);
  const shares = sharesOfBounds(run(inputs.x, inputs.y), inputs);
  expect(shares.filter(({ share }) => !(share > 0 && share <= 1))).toEqual([]);
});

test('and are exact where others are', () => {
  const x = Float32Array.from(EXACT, ([, one]) => one);
  const y = Float32Array.from(EXACT, ([, , other]) => other);
  const out = run(x, y);
  for (const [at, [name, one, other, value]] of EXACT.entries()) {
    expect(out[rowOf(name) * x.length + at], `${name} at ${one}, ${other}`).toBe(value);
  }
});
