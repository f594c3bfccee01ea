import { expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { checkParameters, type Runner } from '../testing/parameter-check.test-support.js';
import { planCudaPairwise } from './cuda/plan.js';
import { DESCRIPTOR_CASES } from '../testing/descriptor-cases.test-support.js';

const run: Runner = (program, launch) => {
  runCudaProgram(program, launch);
};

test.each(DESCRIPTOR_CASES)('CUDA text of $name', ({ family }) => {
  const problem = pairwiseProblem({
    ...family.expressions,
    dtype: 'float32',
    m: 5,
    n: 9,
    k: 3,
    batch: 2,
    alignedA: false,
    alignedB: false,
    alignedOut: false,
  });
  const plan = planCudaPairwise(problem, H200);
  expect(plan.strategy).toBe('outer');
  for (const memory of ['own', 'none'] as const) {
    checkParameters(plan, problem, family, { m: 5, n: 9, k: 3, batch: 2, memory }, run);
  }
});
