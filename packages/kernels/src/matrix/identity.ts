import { cudaType } from '../emit/cuda-literal.js';
import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import {
  int64,
  matrixKernel,
  pointer,
  TILE,
  TILE_TEXT,
  TILE_THREADS,
  tileGeometry,
  type MatrixDType,
} from './matrix-kernel.js';

/**
 * Writes the identity into dense column-major matrices, where `infos` has an address only into those with infos[z] not 0: a
 * library's iteration then has something finite to work on.
 *
 * Scalars: rows, columns, count (of matrices).
 */
export function emitIdentityMatrices(dtype: MatrixDType): CudaKernel {
  return matrixKernel({
    name: `identity matrices ${dtype}`,
    entry: `identity_matrices_${dtype}`,
    threads: TILE_THREADS,
    geometry: tileGeometry,
    params: [
      pointer('to', dtype, 'write'),
      pointer('infos', 'int32', 'read'),
      int64('rows'),
      int64('columns'),
    ],
    body: lines(
      TILE_TEXT,
      'if (infos != nullptr && infos[z] == 0) return;',
      `for (int k = group; k < ${String(TILE)}; k += ${String(TILE_THREADS / TILE)}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns)',
      `    to[(z * columns + column) * rows + row] = (${cudaType(dtype)})(row == column);`,
      '}',
    ),
  });
}
