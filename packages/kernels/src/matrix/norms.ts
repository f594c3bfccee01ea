import { cudaLiteral, cudaType } from '../emit/literals.js';
import { lines } from '../emit/text.js';
import type { CudaKernel, Scalars } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { entryGrid, matrixKernel, type MatrixDType } from './matrix-kernel.js';
import { REDUCE_SHARED, REDUCE_THREADS, TOTAL_FUNCTION } from './reduce-text.js';

/**
 * 1-norms of dense n x n matrices: the largest sum of magnitudes in a column, summed in float64. `norms` starts as 0.
 *
 * Scalars: n, count (of matrices).
 */
export function emitOneNorms(dtype: MatrixDType): CudaKernel {
  const bits = dtype === 'float32' ? 'unsigned' : 'unsigned long long';
  const asBits =
    dtype === 'float32' ? '__float_as_uint' : '(unsigned long long)__double_as_longlong';
  return matrixKernel({
    name: `1-norms ${dtype}`,
    entry: `one_norms_${dtype}`,
    threads: REDUCE_THREADS,
    grid: ({ n = 0, count = 0 }: Scalars) => n * count,
    params: [pointer('matrices', dtype, 'read'), pointer('norms', dtype, 'readwrite'), int64('n')],
    functions: TOTAL_FUNCTION,
    body: lines(
      REDUCE_SHARED,
      'const i64 column = blockIdx.x;',
      'double sum = 0;',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS}) sum += fabs((double)matrices[column * n + i]);`,
      `const ${cudaType(dtype)} norm = (${cudaType(dtype)})total(sum, parts);`,
      '// Numbers that are not negative are ordered as their bits are.',
      `if (threadIdx.x == 0) atomicMax((${bits}*)(norms + column / n), ${asBits}(norm));`,
    ),
  });
}

/**
 * Condition numbers from the norms of matrices and of their inverses: infinity where infos[z] > 0 and `lu` is not 0, NaN for
 * others that failed, 0 without rows.
 *
 * Scalars: n, lu, count (of matrices).
 */
export function emitConditions(dtype: MatrixDType): CudaKernel {
  const infinity = cudaLiteral(Infinity, dtype);
  return matrixKernel({
    name: `condition numbers ${dtype}`,
    entry: `conditions_${dtype}`,
    threads: 32,
    grid: entryGrid,
    params: [
      pointer('norms', dtype, 'read'),
      pointer('inverseNorms', dtype, 'read'),
      pointer('conditions', dtype, 'write'),
      pointer('infos', 'int32', 'read'),
      int64('n'),
      int64('lu'),
    ],
    body: lines(
      'const i64 z = blockIdx.x;',
      'if (threadIdx.x != 0) return;',
      'const int info = infos[z];',
      'if (n == 0) conditions[z] = 0;',
      'else if (info == 0) conditions[z] = norms[z] * inverseNorms[z];',
      `else conditions[z] = lu && info > 0 ? ${infinity} : ${cudaLiteral(NaN, dtype)};`,
    ),
  });
}
