import type { CudaKernel } from '../emitted-kernel.js';
import type { NamedKernel } from '../named-kernel.test-support.js';
import { emitAddCorrections, emitAdvance } from './add.js';
import { emitDeterminants, emitDiagonalMeans, emitDiagonalZeros } from './diagonals.js';
import { emitExchangeRows } from './exchange-rows.js';
import { emitIdentityMatrices } from './element-kernel.js';
import { emitKron } from './kron.js';
import { emitMergeCodes } from './merge-codes.js';
import { emitConditions, emitOneNorms } from './norms.js';
import { emitPackMatrices, emitUnpackMatrices } from './pack.js';
import { emitSmallSolve } from './small-solve.js';
import { emitEigenPowers, emitScaleMatrices, emitSingularReciprocals } from './spectral.js';

/** Every kernel on matrices; they are the same on every GPU. */
export function defaultMatrixKernels(): NamedKernel[] {
  const kernels: CudaKernel[] = [
    emitMergeCodes(),
    emitAdvance(),
    emitAddCorrections(),
    emitPackMatrices('float64', 'float32'),
    emitUnpackMatrices('float64', 'float32'),
    emitPackMatrices('float32', 'float64'),
  ];
  for (const dtype of ['float32', 'float64'] as const) {
    kernels.push(
      emitPackMatrices(dtype, dtype),
      emitUnpackMatrices(dtype, dtype),
      emitIdentityMatrices(dtype),
      emitSmallSolve('cholesky', dtype),
      emitSmallSolve('lu', dtype),
      emitKron(dtype),
      emitDeterminants(dtype),
      emitOneNorms(dtype),
      emitConditions(dtype),
      emitScaleMatrices(dtype),
      emitEigenPowers(dtype),
      emitSingularReciprocals(dtype),
      emitDiagonalZeros(dtype),
      emitDiagonalMeans(dtype),
      emitExchangeRows(dtype),
    );
  }
  return kernels.map((kernel) => ({ name: kernel.name, kernel }));
}
