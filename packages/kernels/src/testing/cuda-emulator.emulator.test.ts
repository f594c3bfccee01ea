import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../emitted-kernel.js';
import { emitPairwise } from '../pairwise/emit.js';
import { planPairwise } from '../pairwise/plan.js';
import { runCudaKernel, runCudaProgram } from './cuda-emulator.test.helper.js';
import { H200, pairwiseProblem } from './h200.test.helper.js';

const plan = planPairwise(pairwiseProblem({ m: 1000, n: 1000, k: 64 }), H200);
const program = emitPairwise(plan);
const [m, n, k] = [20, 35, 50];
const scalars = {
  ...{ m, n, k, batch: 1, lda: 52, ldb: 52, ldo: 36, p: 1 },
  ...{ batchStrideA: 0, batchStrideB: 0, batchStrideOut: 0 },
};
const a = new Float32Array(m * 52).map((_, i) => Math.sin(i));
const b = new Float32Array(n * 52).map((_, i) => Math.cos(i * i));

function run(kernel: CudaKernel): Float32Array {
  const out = new Float32Array(m * 36);
  runCudaKernel(kernel, { scalars, pointers: [a, b, out] });
  return out;
}

/** The tile kernel with a part of its text replaced. */
function changed(from: string | RegExp, to: string): CudaKernel {
  const kernel = program.steps[0]?.kernel as CudaKernel;
  const source = kernel.source.replace(from, to);
  expect(source).not.toBe(kernel.source);
  return { ...kernel, source };
}

describe('the emulator on a tile kernel', () => {
  test('gives the distances', () => {
    expect(plan.summary).toContain('tile');
    const out = new Float32Array(m * 36);
    runCudaProgram(program, { scalars, pointers: { a, b, out } });
    for (let i = 0; i < m; i += 1) {
      for (let j = 0; j < n; j += 1) {
        let sum = 0;
        for (let c = 0; c < k; c += 1) sum += Math.abs(a[i * 52 + c]! - b[j * 52 + c]!);
        expect(Math.abs(out[i * 36 + j]! - sum)).toBeLessThan(1e-4);
      }
    }
  });

  test.each([
    ['a barrier is missing', /__syncthreads\(\);/],
    ['copies are not waited for', /asm volatile\("cp.async.wait_group [1-9].*;/],
  ])('fails where %s', (_, text) => {
    let message = '';
    try {
      run(changed(text, ';'));
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/thread/);
  });
});
