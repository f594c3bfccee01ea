import { cudaLiteral, cudaType } from '../emit/literals.js';
import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { elementKernel } from './element-kernel.js';
import { float64, int64, pointer } from '../kernel-param.js';
import { entryGrid, matrixKernel, type MatrixDType } from './matrix-kernel.js';
import { LARGEST_FUNCTION, REDUCE_SHARED, REDUCE_THREADS, TOTAL_FUNCTION } from './reduce-text.js';

/**
 * Dense matrices times diagonal ones: to[z] = from[z] diag(factors[z]), or diag(factors[z]) from[z] with `byRows`.
 *
 * Scalars: rows, columns, byRows (0 or 1), count (of matrices).
 */
export function emitScaleMatrices(dtype: MatrixDType): CudaKernel {
  return elementKernel({
    name: `scale matrices ${dtype}`,
    entry: `scale_matrices_${dtype}`,
    pointers: [
      pointer('from', dtype, 'read'),
      pointer('factors', dtype, 'read'),
      pointer('to', dtype, 'write'),
    ],
    numbers: [int64('byRows')],
    each: [
      'to[at] = from[at] * (byRows ? factors[z * rows + row] : factors[z * columns + column]);',
    ],
  });
}

/**
 * Eigenvalues to a power, in their place, as the eigenvalues of (a + ridge I)^power: negative ones within rounding
 * (n eps max|w|) count as 0. errors[z] is the bound n eps (1 + |a| max|f'| / max|f|) on the relative error. infos[z], where it
 * was 0, becomes how many eigenvalues have no such power.
 *
 * Scalars: n, power, ridge, epsilon, count (of matrices).
 */
export function emitEigenPowers(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return matrixKernel({
    name: `powers of eigenvalues ${dtype}`,
    entry: `eigen_powers_${dtype}`,
    threads: REDUCE_THREADS,
    grid: entryGrid,
    params: [
      pointer('values', dtype, 'readwrite'),
      pointer('errors', dtype, 'write'),
      pointer('infos', 'int32', 'readwrite'),
      int64('n'),
      float64('power'),
      float64('ridge'),
      float64('epsilon'),
    ],
    functions: lines(TOTAL_FUNCTION, LARGEST_FUNCTION),
    body: lines(
      REDUCE_SHARED,
      'const i64 z = blockIdx.x;',
      `${type}* const own = values + z * n;`,
      'double norm = 0, steepest = 0, most = 0, without = 0;',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS}) norm = fmax(norm, fabs((double)own[i]));`,
      'norm = largest(norm, parts);',
      'const double rounding = norm * epsilon * n;',
      '#pragma unroll 1',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS}) {`,
      '  const double plain = own[i], value = fmax(plain, 0.0) + ridge;',
      '  if (plain < -rounding || (value == 0 && power < 0)) without += 1;',
      '  const double raised = power == 0 ? 1 : pow(value, power);',
      '  most = fmax(most, raised);',
      '  if (value > 0) steepest = fmax(steepest, fabs(power) * raised / value);',
      `  own[i] = (${type})raised;`,
      '}',
      'most = largest(most, parts);',
      'steepest = largest(steepest, parts);',
      'without = total(without, parts);',
      'if (threadIdx.x != 0) return;',
      'if (infos[z] == 0) infos[z] = (int)without;',
      '// The second term is for the product and for vectors that are orthogonal to rounding.',
      `errors[z] = infos[z] != 0 ? ${cudaLiteral(NaN, dtype)} : (${type})(most == 0 ? 0 : rounding * steepest / most + epsilon * n);`,
    ),
  });
}

/**
 * Reciprocals of singular values, 0 for those up to tolerance times the largest, and how many others there are: the rank, -1
 * where infos[z] is not 0.
 *
 * Scalars: n (singular values of each), tolerance, count (of matrices).
 */
export function emitSingularReciprocals(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return matrixKernel({
    name: `reciprocals of singular values ${dtype}`,
    entry: `singular_reciprocals_${dtype}`,
    threads: REDUCE_THREADS,
    grid: entryGrid,
    params: [
      pointer('values', dtype, 'read'),
      pointer('reciprocals', dtype, 'write'),
      pointer('infos', 'int32', 'read'),
      pointer('ranks', 'int32', 'write'),
      int64('n'),
      float64('tolerance'),
    ],
    functions: TOTAL_FUNCTION,
    body: lines(
      REDUCE_SHARED,
      'const i64 z = blockIdx.x;',
      `const ${type} least = n == 0 ? 0 : (${type})(tolerance * values[z * n]);`,
      'double rank = 0;',
      `for (i64 i = threadIdx.x; i < n; i += ${REDUCE_THREADS}) {`,
      `  const ${type} value = values[z * n + i];`,
      '  const bool counts = value > least;',
      '  reciprocals[z * n + i] = counts ? 1 / value : 0;',
      '  rank += counts;',
      '}',
      'rank = total(rank, parts);',
      'if (threadIdx.x == 0) ranks[z] = infos[z] != 0 ? -1 : (int)rank;',
    ),
  });
}
