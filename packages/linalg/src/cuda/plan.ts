import { smallSolveBytes, type CudaLimits } from '@mercer/kernels';
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

/** Where a way is ahead of the next: orders up to `small`, and up to `batched` with at least `count` matrices. */
interface Bounds {
  readonly small: number;
  readonly batched: number;
  readonly count: number;
}

/** As measured on an H200 (docs/performance/linear-algebra.md). */
const CHOLESKY: Bounds = { small: 96, batched: 1024, count: 10 };
const LU: Bounds = { small: 96, batched: 512, count: 16 };

/** The way that measurements found fastest. */
export function planSolve(problem: SolveProblem, limits: CudaLimits): SolvePlan {
  const { cholesky, dtype, n, columns, count } = problem;
  const bounds = cholesky ? CHOLESKY : LU;
  const fits = smallSolveBytes(dtype, n, columns) <= limits.sharedMemPerBlockOptin - 1024;
  if (n <= bounds.small && fits) return 'small';
  return n <= bounds.batched && count >= bounds.count ? 'batched' : 'streams';
}
