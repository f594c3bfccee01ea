import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { entryGrid, matrixKernel, type MatrixDType } from './matrix-kernel.js';
import { REDUCE_THREADS, REDUCE_SHARED, TOTAL_FUNCTION } from './reduce-text.js';
import { cudaLiteral } from '../emit/literals.js';

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

/**
 * Determinants from the factors of dense n x n matrices, as sign and logarithm of the magnitude, summed in float64. With
 * `pivots` (int64, counted from 1, n for each matrix) the factors are LU, without (address 0) Cholesky. A singular
 * matrix (LU, infos[z] > 0) has 0 and -infinity; others that failed (infos[z] not 0) have NaN.
 *
 * Scalars: n, count (of matrices).
 */
export function emitDeterminants(dtype: MatrixDType): CudaKernel {
  const infinity = cudaLiteral(Infinity, dtype);
  return matrixKernel({
    name: `determinants ${dtype}`,
    entry: `determinants_${dtype}`,
    threads: REDUCE_THREADS,
    grid: entryGrid,
    params: [
      pointer('factors', dtype, 'read'),
      pointer('pivots', 'int64', 'read'),
      pointer('signs', dtype, 'write'),
      pointer('logs', dtype, 'write'),
      pointer('infos', 'int32', 'read'),
      int64('n'),
    ],
    functions: TOTAL_FUNCTION,
    body: lines(
      REDUCE_SHARED,
      'const i64 z = blockIdx.x;',
      'const bool lu = pivots != nullptr;',
      'double log_sum = 0, flips = 0;',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS}) {`,
      '  const double value = factors[z * n * n + i * n + i];',
      '  log_sum += log(fabs(value)) * (lu ? 1 : 2);',
      '  if (lu) flips += (value < 0) != (pivots[z * n + i] != i + 1);',
      '}',
      'log_sum = total(log_sum, parts);',
      'flips = total(flips, parts);',
      'if (threadIdx.x != 0) return;',
      'const int info = infos[z];',
      'const bool singular = lu && info > 0;',
      'const double sign = flips - 2 * floor(flips / 2) == 0 ? 1 : -1;',
      `signs[z] = singular ? 0 : info == 0 ? sign : ${cudaLiteral(NaN, dtype)};`,
      `logs[z] = singular ? -${infinity} : info == 0 ? log_sum : ${cudaLiteral(NaN, dtype)};`,
    ),
  });
}
