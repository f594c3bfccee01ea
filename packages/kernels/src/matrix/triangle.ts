import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { entryGrid, matrixKernel, type MatrixDType } from './matrix-kernel.js';
import { REDUCE_THREADS } from './reduce-text.js';

/**
 * codes[z]: one more than the position of the first 0 on the diagonal of a dense n x n matrix, 0 where there is none.
 *
 * Scalars: n, count (of matrices).
 */
export function emitDiagonalZeros(dtype: MatrixDType): CudaKernel {
  return matrixKernel({
    name: `zeros on diagonals ${dtype}`,
    entry: `diagonal_zeros_${dtype}`,
    threads: REDUCE_THREADS,
    grid: entryGrid,
    params: [pointer('matrices', dtype, 'read'), pointer('codes', 'int32', 'write'), int64('n')],
    body: lines(
      '__shared__ int first;',
      'const i64 z = blockIdx.x;',
      'if (threadIdx.x == 0) first = 0x7fffffff;',
      '__syncthreads();',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS})`,
      '  if (matrices[(z * n + i) * n + i] == 0) atomicMin(&first, (int)i + 1);',
      '__syncthreads();',
      'if (threadIdx.x == 0) codes[z] = first == 0x7fffffff ? 0 : first;',
    ),
  });
}

/**
 * Means of the magnitudes on the diagonals of dense n x n matrices, 1 where all are 0: what jitter is measured in.
 *
 * Scalars: n, count (of matrices).
 */
export function emitDiagonalMeans(dtype: MatrixDType): CudaKernel {
  return matrixKernel({
    name: `means of diagonals ${dtype}`,
    entry: `diagonal_means_${dtype}`,
    threads: 32,
    grid: entryGrid,
    params: [pointer('matrices', dtype, 'read'), pointer('means', 'float64', 'write'), int64('n')],
    body: lines(
      'const i64 z = blockIdx.x;',
      'double sum = 0;',
      'for (i64 i = threadIdx.x; i < n; i += 32) sum += fabs((double)matrices[(z * n + i) * n + i]);',
      'for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);',
      'if (threadIdx.x == 0) means[z] = sum > 0 ? sum / n : 1;',
    ),
  });
}
