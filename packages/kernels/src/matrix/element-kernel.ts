import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { type KernelParam, int64, pointer } from '../kernel-param.js';
import {
  matrixKernel,
  TILE,
  TILE_TEXT,
  TILE_THREADS,
  tileGrid,
  type MatrixDType,
} from './matrix-kernel.js';
import { cudaType } from '../emit/literals.js';

/** A kernel that does the same for every element of dense column-major matrices. */
export interface ElementText {
  readonly name: string;
  readonly entry: string;
  /** Before `rows` and `columns`. */
  readonly pointers: readonly KernelParam[];
  /** After them. */
  readonly numbers?: readonly KernelParam[];
  /** Statements about the matrix z, before any element. */
  readonly first?: readonly string[];
  /** Statements about the element (row, column) of matrix z, which lies at `at`. */
  readonly each: readonly string[];
}

/** Scalars: rows, columns, the numbers, count (of matrices). */
export function elementKernel(text: ElementText): CudaKernel {
  const { name, entry, pointers, numbers = [], first = [], each } = text;
  return matrixKernel({
    name,
    entry,
    threads: TILE_THREADS,
    grid: tileGrid,
    params: [...pointers, int64('rows'), int64('columns'), ...numbers],
    body: lines(
      TILE_TEXT,
      ...first,
      `for (int k = group; k < ${TILE}; k += ${TILE_THREADS / TILE}) {`,
      '  const i64 row = row0 + lane, column = column0 + k;',
      '  if (row < rows && column < columns) {',
      '    const i64 at = (z * columns + column) * rows + row;',
      ...each.map((statement) => `    ${statement}`),
      '  }',
      '}',
    ),
  });
}

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
