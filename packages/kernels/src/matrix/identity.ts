import { cudaType } from '../emit/cuda-literal.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { elementKernel } from './element-kernel.js';
import { pointer } from '../kernel-param.js';
import { type MatrixDType } from './matrix-kernel.js';

/**
 * Writes the identity into dense column-major matrices, where `infos` has an address only into those with infos[z] not 0: a
 * library's iteration then has something finite to work on.
 *
 * Scalars: rows, columns, count (of matrices).
 */
export function emitIdentityMatrices(dtype: MatrixDType): CudaKernel {
  return elementKernel({
    name: `identity matrices ${dtype}`,
    entry: `identity_matrices_${dtype}`,
    pointers: [pointer('to', dtype, 'write'), pointer('infos', 'int32', 'read')],
    first: ['if (infos != nullptr && infos[z] == 0) return;'],
    each: [`to[at] = (${cudaType(dtype)})(row == column);`],
  });
}
