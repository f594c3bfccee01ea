import { cudaType } from '../emit/cuda-literal.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { elementKernel } from './element-kernel.js';
import { float64, pointer } from '../kernel-param.js';
import { type MatrixDType } from './matrix-kernel.js';

/**
 * First step of the coupled Newton iteration for -1/root on dense matrices: m is scaled by w = (1 + root) / (2 |m|_F), with the
 * squares of the Frobenius norms given, and x becomes w^(1/root) I.
 *
 * Scalars: rows and columns (both n), root, count (of matrices).
 */
export function emitNewtonStart(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return elementKernel({
    name: `Newton iteration ${dtype}, start`,
    entry: `newton_start_${dtype}`,
    pointers: [
      pointer('m', dtype, 'readwrite'),
      pointer('x', dtype, 'write'),
      pointer('squares', 'float64', 'read'),
    ],
    numbers: [float64('root')],
    first: [
      'const double scale = squares[z] > 0 ? (1 + root) / (2 * sqrt(squares[z])) : 1;',
      'const double first = exp(log(scale) / root);',
    ],
    each: [`m[at] *= (${type})scale;`, `x[at] = row == column ? (${type})first : 0;`],
  });
}

/**
 * t = ((root + 1) I - m) / root on dense matrices.
 *
 * Scalars: rows and columns (both n), root, count (of matrices).
 */
export function emitNewtonFactor(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return elementKernel({
    name: `Newton iteration ${dtype}, factor`,
    entry: `newton_factor_${dtype}`,
    pointers: [pointer('m', dtype, 'read'), pointer('t', dtype, 'write')],
    numbers: [float64('root')],
    each: [`t[at] = ((row == column ? (${type})root + 1 : 0) - m[at]) / (${type})root;`],
  });
}
