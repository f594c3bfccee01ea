import { dtypeBytes } from '../dtype.js';
import { cudaLiteral, cudaType } from '../emit/literals.js';
import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import {
  alongRowsText,
  entryGrid,
  batchParams,
  finiteFunction,
  matrixKernel,
  startText,
  stridesOf,
  type MatrixDType,
} from './matrix-kernel.js';

const THREADS = 256;

/** How a system is factored. */
export type SmallSolveMethod = 'cholesky' | 'lu';

/** Shared memory of a block that solves a system of order n with c right-hand sides. */
export function smallSolveBytes(dtype: MatrixDType, n: number, c: number): number {
  return (leadOf(n) * (n + c) + n) * dtypeBytes(dtype);
}

/** Odd, so that rows and columns both spread over the banks. */
const leadOf = (n: number): number => n + 1 - (n % 2);

/**
 * Solves many small systems a x = b in one launch, a block for each: everything stays in shared memory. The factorisation works
 * on [a b] at once, right-looking, so that the forward substitution is part of it.
 *
 * infos[z]: k > 0 where leading minor k is not positive (Cholesky) or pivot k is 0 (LU), -1 where what is read of a is not
 * finite; x and the factor are NaN then. Cholesky reads the triangle that `upper` says and leaves the factor there and zeros in
 * the other; LU leaves L below the diagonal and U, rows exchanged. `factor` may be address 0; x may be b, factor a.
 *
 * Scalars: n, columns, upper (0 or 1), the strides of a, b, x and factor, batch0 to 5, count (of systems).
 */
export function emitSmallSolve(method: SmallSolveMethod, dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  const cholesky = method === 'cholesky';
  return matrixKernel({
    name: `small systems by ${cholesky ? 'Cholesky' : 'LU'} ${dtype}`,
    entry: `small_solve_${method}_${dtype}`,
    threads: THREADS,
    grid: entryGrid,
    sharedMemBytes: ({ n = 0, columns = 0 }) => smallSolveBytes(dtype, n, columns),
    params: [
      pointer('a', dtype, 'read'),
      pointer('b', dtype, 'read'),
      pointer('x', dtype, 'write'),
      pointer('factor', dtype, 'write'),
      pointer('infos', 'int32', 'write'),
      ...['n', 'columns', 'upper'].map(int64),
      ...['a', 'b', 'x', 'factor'].flatMap(stridesOf),
      ...batchParams,
    ],
    functions: finiteFunction(dtype),
    body: lines(
      'extern __shared__ __align__(16) unsigned char memory[];',
      `${type}* const A = (${type}*)memory;`,
      'const int order = (int)n, sides = (int)columns, lead = order + 1 - order % 2;',
      `${type}* const B = A + lead * order;`,
      cholesky && `${type}* const diagonal = B + lead * sides;`,
      cholesky ? '__shared__ int info;' : '__shared__ int info, pivot;',
      'const i64 z = blockIdx.x;',
      `const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, warps = ${THREADS / 32};`,
      ...['a', 'b', 'x', 'factor'].map((name) => startText(`${name}Start`, name)),
      LOAD(cholesky),
      'if (thread == 0) info = 0;',
      'if (__syncthreads_or(bad)) {',
      '  if (thread == 0) info = -1;',
      '} else {',
      `  for (int k = 0; k < order; ++k) {`,
      cholesky ? CHOLESKY_STEP(type) : LU_STEP(type),
      '  }',
      '}',
      '__syncthreads();',
      'const int result = info;',
      cholesky
        ? BACK(type, 'diagonal[k]', 'A[k + i * lead]')
        : BACK(type, 'A[k + k * lead]', 'A[i + k * lead]'),
      'if (thread == 0) infos[z] = result;',
      `for (int at = thread; at < order * sides; at += ${THREADS}) {`,
      '  const int i = bAlongRows ? at % order : at / sides, j = bAlongRows ? at / order : at % sides;',
      `  x[xStart + i * xRow + j * xColumn] = result != 0 ? ${cudaLiteral(NaN, dtype)} : B[i + j * lead];`,
      '}',
      'if (factor == nullptr) return;',
      `for (int at = thread; at < order * order; at += ${THREADS}) {`,
      '  const int i = aAlongRows ? at % order : at / order, j = aAlongRows ? at / order : at % order;',
      cholesky
        ? '  const int row = upper ? j : i, column = upper ? i : j;'
        : '  const int row = i, column = j;',
      cholesky
        ? `  const ${type} value = row > column ? A[row + column * lead] : row == column ? diagonal[row] : 0;`
        : `  const ${type} value = A[row + column * lead];`,
      `  factor[factorStart + i * factorRow + j * factorColumn] = result != 0 ? ${cudaLiteral(NaN, dtype)} : value;`,
      '}',
    ),
  });
}

/** Text that fills A, for Cholesky the lower triangle of the factor's matrix, and B. */
const LOAD = (cholesky: boolean): string =>
  lines(
    alongRowsText('aAlongRows', 'a'),
    alongRowsText('bAlongRows', 'b'),
    'bool bad = false;',
    `for (int at = thread; at < order * order; at += ${THREADS}) {`,
    '  const int i = aAlongRows ? at % order : at / order, j = aAlongRows ? at / order : at % order;',
    cholesky && '  if (upper ? i > j : i < j) continue;',
    '  const auto value = a[aStart + i * aRow + j * aColumn];',
    '  bad |= !finite(value);',
    cholesky ? '  A[upper ? j + i * lead : i + j * lead] = value;' : '  A[i + j * lead] = value;',
    '}',
    `for (int at = thread; at < order * sides; at += ${THREADS}) {`,
    '  const int i = bAlongRows ? at % order : at / sides, j = bAlongRows ? at / order : at % sides;',
    '  B[i + j * lead] = b[bStart + i * bRow + j * bColumn];',
    '}',
  );

const CHOLESKY_STEP = (type: string): string =>
  lines(
    '    __syncthreads();',
    `    const ${type} square = A[k + k * lead];`,
    '    if (!(square > 0)) {',
    '      if (thread == 0) info = k + 1;',
    '      break;',
    '    }',
    `    const ${type} root = sqrt(square);`,
    '    if (thread == 0) diagonal[k] = root;',
    `    for (int i = k + 1 + thread; i < order; i += ${THREADS}) A[i + k * lead] /= root;`,
    `    for (int c = thread; c < sides; c += ${THREADS}) B[k + c * lead] /= root;`,
    '    __syncthreads();',
    '    for (int j = k + 1 + warp; j < order; j += warps) {',
    `      const ${type} factorJ = A[j + k * lead];`,
    '      for (int i = j + lane; i < order; i += 32) A[i + j * lead] -= A[i + k * lead] * factorJ;',
    '    }',
    '    for (int c = warp; c < sides; c += warps) {',
    `      const ${type} side = B[k + c * lead];`,
    '      for (int i = k + 1 + lane; i < order; i += 32) B[i + c * lead] -= A[i + k * lead] * side;',
    '    }',
  );

const LU_STEP = (type: string): string =>
  lines(
    '    __syncthreads();',
    '    if (warp == 0) {',
    '      // The first of the largest, as LAPACK chooses.',
    `      ${type} most = -1;`,
    '      int where = order;',
    '      for (int i = k + lane; i < order; i += 32) {',
    `        const ${type} size = fabs(A[i + k * lead]);`,
    '        if (size > most) most = size, where = i;',
    '      }',
    '      for (int step = 16; step > 0; step /= 2) {',
    `        const ${type} otherMost = __shfl_xor_sync(0xffffffffu, most, step);`,
    '        const int otherWhere = __shfl_xor_sync(0xffffffffu, where, step);',
    '        if (otherMost > most || (otherMost == most && otherWhere < where)) most = otherMost, where = otherWhere;',
    '      }',
    '      if (lane == 0) pivot = where < order ? where : k;',
    '    }',
    '    __syncthreads();',
    '    const int p = pivot;',
    `    const ${type} divisor = A[p + k * lead];`,
    '    __syncthreads();',
    '    if (divisor == 0) {',
    '      if (thread == 0) info = k + 1;',
    '      break;',
    '    }',
    '    if (p != k) {',
    `      for (int j = thread; j < order + sides; j += ${THREADS}) {`,
    `        const ${type} kept = A[k + j * lead];`,
    '        A[k + j * lead] = A[p + j * lead];',
    '        A[p + j * lead] = kept;',
    '      }',
    '    }',
    '    __syncthreads();',
    `    for (int i = k + 1 + thread; i < order; i += ${THREADS}) A[i + k * lead] /= divisor;`,
    '    __syncthreads();',
    '    // B follows A: its columns are those from `order` on.',
    '    for (int j = k + 1 + warp; j < order + sides; j += warps) {',
    `      const ${type} top = A[k + j * lead];`,
    '      for (int i = k + 1 + lane; i < order; i += 32) A[i + j * lead] -= A[i + k * lead] * top;',
    '    }',
  );

/** Solves with L^T or U, a warp for each right-hand side: texts of the elements (k, k) and (i, k) of that matrix. */
const BACK = (type: string, divisor: string, factor: string): string =>
  lines(
    'if (result == 0) {',
    '  for (int c = warp; c < sides; c += warps) {',
    '    for (int k = order - 1; k >= 0; --k) {',
    `      const ${type} side = B[k + c * lead] / ${divisor};`,
    '      __syncwarp();',
    '      if (lane == 0) B[k + c * lead] = side;',
    `      for (int i = lane; i < k; i += 32) B[i + c * lead] -= ${factor} * side;`,
    '      __syncwarp();',
    '    }',
    '  }',
    '}',
    '__syncthreads();',
  );
