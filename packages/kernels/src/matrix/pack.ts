import { cudaType, cudaLiteral } from '../emit/literals.js';
import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { float64, int64, pointer } from '../kernel-param.js';
import {
  alongRowsText,
  batchParams,
  finiteFunction,
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
 * Strided matrices into dense column-major ones, converted from one dtype to another: the leading dimension is `rows`, one
 * matrix after the other. Of a triangle (`part` 1 lower, 2 upper) the other is written as 0, or as its mirror image.
 * infos[z] (address 0: not wanted) becomes -1 where an element that counts is not finite in either dtype. Where `only` has an
 * address, matrices with only[z] <= 0 are left alone. `ridge`, and shifts[z] where that has an address, are added to the
 * diagonal.
 *
 * Scalars: rows, columns, part, mirrored (0 or 1), ridge, fromRow, fromColumn, fromBatch0 to 5, batch0 to 5, count (of
 * matrices).
 */
export function emitPackMatrices(from: MatrixDType, to: MatrixDType): CudaKernel {
  const narrow = from === 'float64' && to === 'float32';
  const entry = `pack_matrices_${from}_${to}`;
  return matrixKernel({
    name: `pack matrices ${from} to ${to}`,
    entry,
    threads: TILE_THREADS,
    grid: tileGrid,
    params: [
      pointer('from', from, 'read'),
      pointer('to', to, 'write'),
      pointer('infos', 'int32', 'readwrite'),
      pointer('only', 'int32', 'read'),
      pointer('shifts', to, 'read'),
      ...['rows', 'columns', 'part', 'mirrored'].map(int64),
      float64('ridge'),
      ...stridesOf('from'),
      ...batchParams,
    ],
    functions: lines(PART_FUNCTION, finiteFunction(narrow ? 'float32' : from)),
    body: lines(
      `__shared__ ${cudaType(to)} tile[${TILE}][${TILE + 1}];`,
      TILE_TEXT,
      'if (only != nullptr && only[z] <= 0) return;',
      startText('start', 'from'),
      '// Lanes go along the axis of the source whose elements lie closer together.',
      alongRowsText('alongRows', 'from'),
      'bool bad = false;',
      '#pragma unroll 2',
      `for (int k = group; k < ${TILE}; k += ${TILE_THREADS / TILE}) {`,
      '  const int i = alongRows ? lane : k, j = alongRows ? k : lane;',
      '  const i64 row = row0 + i, column = column0 + j;',
      `  ${cudaType(to)} value = 0;`,
      '  if (row < rows && column < columns) {',
      '    const bool inside = in_part(part, row, column);',
      '    if (inside || mirrored) {',
      `      value = (${cudaType(to)})from[start + (inside ? row * fromRow + column * fromColumn : column * fromRow + row * fromColumn)];`,
      '      bad |= !finite(value);',
      '    }',
      '  }',
      '  tile[i][j] = value;',
      '}',
      'if (__syncthreads_or(bad) && threadIdx.x == 0 && infos != nullptr) atomicMin(infos + z, -1);',
      `const ${cudaType(to)} shift = (${cudaType(to)})ridge + (shifts == nullptr ? 0 : shifts[z]);`,
      `for (int k = group; k < ${TILE}; k += ${TILE_THREADS / TILE}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns)',
      '    to[(z * columns + column) * rows + row] = tile[lane][k] + (row == column ? shift : 0);',
      '}',
    ),
  });
}

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
