import { smallSolveBytes } from '@mercer/kernels';
import type { CudaLimits } from '@mercer/kernels';
import type { LinalgDType } from '../checks.js';

/**
 * How systems are solved: each in the shared memory of a block, all in one batched call of the library, or matrix after matrix on
 * several streams.
 */
export type SolvePlan = 'small' | 'batched' | 'streams';

/** What a plan depends on. */
export interface SolveProblem {
  readonly cholesky: boolean;
  readonly dtype: LinalgDType;
  readonly n: number;
  /** Right-hand sides. */
  readonly columns: number;
  /** Matrices. */
  readonly count: number;
}

/** Orders up to which a way is ahead of the next, as measured on an H200 (docs/performance.md). */
export const ORDERS = {
  cholesky: { small: 96, batched: 512 },
  lu: { small: 96, batched: 512 },
};

/** With fewer matrices, streams keep up with a batched call. */
const BATCH = 4;

/** The way that measurements found fastest. */
export function planSolve(problem: SolveProblem, limits: CudaLimits): SolvePlan {
  const { cholesky, dtype, n, columns, count } = problem;
  const orders = cholesky ? ORDERS.cholesky : ORDERS.lu;
  const fits = smallSolveBytes(dtype, n, columns) <= limits.sharedMemPerBlockOptin - 1024;
  if (n <= orders.small && fits) return 'small';
  return n <= orders.batched && count >= BATCH ? 'batched' : 'streams';
}
