import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import {
  batchParams,
  matrixKernel,
  startText,
  stridesOf,
  type MatrixDType,
} from './matrix-kernel.js';

const THREADS = 256;

/**
 * Kronecker products of strided matrices: c[i r + k, j s + l] = a[i, j] b[k, l] for a of p x q and b of r x s.
 *
 * Scalars: p, q, r, s, the strides of a, b and c, batch0 to 5, count (of matrices).
 */
export function emitKron(dtype: MatrixDType): CudaKernel {
  return matrixKernel({
    name: `Kronecker products ${dtype}`,
    entry: `kron_${dtype}`,
    threads: THREADS,
    grid: ({ p = 0, q = 0, r = 0, s = 0, count = 0 }) =>
      Math.ceil((p * q * r * s) / THREADS) * count,
    params: [
      pointer('a', dtype, 'read'),
      pointer('b', dtype, 'read'),
      pointer('c', dtype, 'write'),
      ...['p', 'q', 'r', 's'].map(int64),
      ...['a', 'b', 'c'].flatMap(stridesOf),
      ...batchParams,
    ],
    body: lines(
      `const i64 elements = p * q * r * s, blocks = (elements + ${THREADS - 1}) / ${THREADS};`,
      'const i64 z = blockIdx.x / blocks;',
      `const i64 at = (blockIdx.x - z * blocks) * ${THREADS} + threadIdx.x;`,
      'if (at >= elements) return;',
      ...['a', 'b', 'c'].map((name) => startText(`${name}Start`, name)),
      'const i64 row = at / (q * s), column = at - row * (q * s);',
      'const i64 i = row / r, k = row - i * r, j = column / s, l = column - j * s;',
      'c[cStart + row * cRow + column * cColumn] = a[aStart + i * aRow + j * aColumn] * b[bStart + k * bRow + l * bColumn];',
    ),
  });
}
