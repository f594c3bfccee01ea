import type { CudaLimits } from '../device-limits.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/cuda-literal.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { float64, int64, pointer } from '../kernel-param.js';
import type { PairwiseDType } from '../pairwise/problem.js';

const THREADS = 256;
const BLOCKS_PER_MULTIPROCESSOR = 2;

/** The arithmetic that a register-only loop repeats. */
export interface PairLoop {
  readonly name: string;
  readonly entry: string;
  readonly dtype: PairwiseDType;
  readonly functions: string;
  /** Locals; may read the parameters `k` (iterations) and `p`. */
  readonly setup: string;
  step(sum: string, x: string, y: string, place: string): string;
  readonly slots: number;
  readonly special: number;
  /** Rows and columns of one thread's tile. */
  readonly tile: readonly [rows: number, columns: number];
}

/**
 * A loop over pairs whose operands never leave registers: what the device issues at most. One
 * addition per column and iteration keeps the compiler from hoisting the differences; it is part of
 * the time but not of the cost. Scalars: `k` iterations and `p`; `out` holds one element per thread.
 */
export function pairLoopKernel(loop: PairLoop, limits: CudaLimits): CudaKernel {
  const type = cudaType(loop.dtype);
  const [rows, columns] = loop.tile.map(String) as [string, string];
  const blocks = limits.multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
  const pairs = (k: number): number => k * blocks * THREADS * loop.tile[0] * loop.tile[1];
  return cudaKernel({
    name: loop.name,
    entry: loop.entry,
    params: [pointer('out', loop.dtype, 'write'), int64('k'), float64('p')],
    before: `${loop.functions}\n\n`,
    threads: THREADS,
    resident: BLOCKS_PER_MULTIPROCESSOR,
    body: `  ${loop.setup}
  ${type} x[${rows}], y[${columns}], sum[${rows}][${columns}] = {};
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i) x[i] = (${type})(threadIdx.x % 29 + i * 3) * (${type})0.37;
  #pragma unroll
  for (int j = 0; j < ${columns}; ++j) y[j] = (${type})(threadIdx.x % 31 + j * 5) * (${type})0.41;
  const ${type} change = (${type})p * (${type})1e-4;
  #pragma unroll 1
  for (int step = 0; step < (int)k; ++step) {
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j) y[j] += change;
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i)
      #pragma unroll
      for (int j = 0; j < ${columns}; ++j) sum[i][j] = ${loop.step('sum[i][j]', 'x[i]', 'y[j]', `i * ${columns} + j`)};
  }
  ${type} total = 0;
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j) total += sum[i][j];
  out[(long long)blockIdx.x * ${THREADS} + threadIdx.x] = total;`,
    grid: () => blocks,
    cost: ({ k = 0 }) => ({
      bytes: 0,
      flops: 2 * loop.slots * pairs(k),
      issueSlots: loop.slots * pairs(k),
      specialOps: loop.special * pairs(k),
    }),
  });
}
