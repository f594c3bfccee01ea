import { cudaType } from '../emit/cuda-literal.js';
import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import {
  float64,
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
 * First step of the coupled Newton iteration for -1/root on dense matrices: m is scaled by w = (1 + root) / (2 |m|_F), with the
 * squares of the Frobenius norms given, and x becomes w^(1/root) I.
 *
 * Scalars: rows and columns (both n), root, count (of matrices).
 */
export function emitNewtonStart(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return matrixKernel({
    name: `Newton iteration ${dtype}, start`,
    entry: `newton_start_${dtype}`,
    threads: TILE_THREADS,
    geometry: tileGeometry,
    params: [
      pointer('m', dtype, 'readwrite'),
      pointer('x', dtype, 'write'),
      pointer('squares', 'float64', 'read'),
      int64('rows'),
      int64('columns'),
      float64('root'),
    ],
    body: lines(
      TILE_TEXT,
      'const double scale = squares[z] > 0 ? (1 + root) / (2 * sqrt(squares[z])) : 1;',
      'const double first = exp(log(scale) / root);',
      `for (int k = group; k < ${String(TILE)}; k += ${String(TILE_THREADS / TILE)}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns) {',
      '    const i64 at = (z * columns + column) * rows + row;',
      `    m[at] *= (${type})scale;`,
      `    x[at] = row == column ? (${type})first : 0;`,
      '  }',
      '}',
    ),
  });
}

/**
 * t = ((root + 1) I - m) / root on dense matrices.
 *
 * Scalars: rows and columns (both n), root, count (of matrices).
 */
export function emitNewtonFactor(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return matrixKernel({
    name: `Newton iteration ${dtype}, factor`,
    entry: `newton_factor_${dtype}`,
    threads: TILE_THREADS,
    geometry: tileGeometry,
    params: [
      pointer('m', dtype, 'read'),
      pointer('t', dtype, 'write'),
      int64('rows'),
      int64('columns'),
      float64('root'),
    ],
    body: lines(
      TILE_TEXT,
      `for (int k = group; k < ${String(TILE)}; k += ${String(TILE_THREADS / TILE)}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns) {',
      '    const i64 at = (z * columns + column) * rows + row;',
      `    t[at] = ((row == column ? (${type})root + 1 : 0) - m[at]) / (${type})root;`,
      '  }',
      '}',
    ),
  });
}
