import { cuda } from '@mercer/cuda-runtime';
import { expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { runGpuProgram } from '../testing/gpu-program.test-support.js';
import {
  EXACT,
  fastMathInputs,
  fastMathKernel,
  FUNCTIONS,
  rowOf,
  sharesOfBounds,
} from './fast-math-cases.test-support.js';

useNvrtc();
const isHere = cuda.isAvailable();

async function run(x: Float32Array, y: Float32Array): Promise<Float32Array> {
  const out = new Float32Array(FUNCTIONS * x.length);
  const scalars = { n: x.length, p: 1, q: 1 };
  const program = { steps: [{ kernel: fastMathKernel() }], workspaceBytes: () => 0 };
  await runGpuProgram(cuda.device(0), program, { scalars, pointers: { a: x, b: y, out } });
  return out;
}

test.skipIf(!isHere)('functions of fastMath keep their bounds on a GPU', async ({ annotate }) => {
  const inputs = fastMathInputs();
  const shares = sharesOfBounds(await run(inputs.x, inputs.y), inputs);
  for (const { share, at } of shares) await annotate(`${share.toFixed(3)} of the bound: ${at}`);
  expect(shares.filter(({ share }) => !(share <= 1))).toEqual([]);
});

test.skipIf(!isHere)('and are exact on a GPU where others are', async () => {
  const x = Float32Array.from(EXACT, ([, one]) => one);
  const y = Float32Array.from(EXACT, ([, , other]) => other);
  const out = await run(x, y);
  for (const [at, [name, one, other, value]] of EXACT.entries()) {
    expect(out[rowOf(name) * x.length + at], `${name} at ${one}, ${other}`).toBe(value);
  }
});
