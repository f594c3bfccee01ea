import { cudaLiteral, cudaType } from '../emit/cuda-literal.js';
import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import {
  alongRowsText,
  batchParams,
  matrixKernel,
  PART_FUNCTION,
  startText,
  stridesOf,
  TILE,
  TILE_TEXT,
  TILE_THREADS,
  tileGrid,
  type MatrixDType,
} from './matrix-kernel.js';

/**
 * Column-major matrices (leading dimension `lead`, matrices `step` elements apart) into strided ones. Outside of the triangle
 * `part` (1 lower, 2 upper) zeros are written, and NaN everywhere where infos[z] is not 0.
 *
 * Scalars: rows, columns, lead, step, part, toRow, toColumn, toBatch0 to 5, batch0 to 5, count (of matrices).
 */
export function emitUnpackMatrices(from: MatrixDType, to: MatrixDType): CudaKernel {
  return matrixKernel({
    name: `unpack matrices ${from} to ${to}`,
    entry: `unpack_matrices_${from}_${to}`,
    threads: TILE_THREADS,
    grid: tileGrid,
    params: [
      pointer('from', from, 'read'),
      pointer('to', to, 'write'),
      pointer('infos', 'int32', 'read'),
      ...['rows', 'columns', 'lead', 'step', 'part'].map(int64),
      ...stridesOf('to'),
      ...batchParams,
    ],
    functions: PART_FUNCTION,
    body: lines(
      `__shared__ ${cudaType(to)} tile[${TILE}][${TILE + 1}];`,
      TILE_TEXT,
      startText('start', 'to'),
      'const bool bad = infos[z] != 0;',
      `for (int k = group; k < ${TILE}; k += ${TILE_THREADS / TILE}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns)',
      `    tile[lane][k] = in_part(part, row, column) ? (${cudaType(to)})from[z * step + column * lead + row] : 0;`,
      '}',
      '__syncthreads();',
      alongRowsText('alongRows', 'to'),
      `for (int k = group; k < ${TILE}; k += ${TILE_THREADS / TILE}) {`,
      '  const int i = alongRows ? lane : k, j = alongRows ? k : lane;',
      '  const i64 row = row0 + i, column = column0 + j;',
      '  if (row < rows && column < columns)',
      `    to[start + row * toRow + column * toColumn] = bad ? ${cudaLiteral(NaN, to)} : tile[i][j];`,
      '}',
    ),
  });
}
