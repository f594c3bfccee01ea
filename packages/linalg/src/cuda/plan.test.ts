import type { CudaLimits } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { planSolve, type SolveProblem } from './plan.js';

const limits = { kind: 'cuda', sharedMemPerBlockOptin: 232_448 } as CudaLimits;
const problem = (change: Partial<SolveProblem>): SolveProblem => ({
  cholesky: true,
  dtype: 'float64',
  n: 64,
  columns: 16,
  count: 64,
  ...change,
});

describe('the plan of a solve', () => {
  it.each([
    [{}, 'small'],
    [{ n: 96 }, 'small'],
    [{ n: 97 }, 'batched'],
    [{ columns: 400 }, 'batched'],
    [{ columns: 400, dtype: 'float32' }, 'small'],
    [{ n: 1024 }, 'batched'],
    [{ n: 1024, count: 9 }, 'streams'],
    [{ n: 1025 }, 'streams'],
    [{ cholesky: false, n: 512 }, 'batched'],
    [{ cholesky: false, n: 512, count: 15 }, 'streams'],
    [{ cholesky: false, n: 513 }, 'streams'],
  ] as const)('of %o is %s', (change, plan) => {
    expect(planSolve(problem(change), limits)).toBe(plan);
  });
});
