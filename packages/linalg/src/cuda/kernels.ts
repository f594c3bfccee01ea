import {
  emitAddCorrections,
  emitAdvance,
  emitConditions,
  emitDeterminants,
  emitDiagonalMeans,
  emitDiagonalZeros,
  emitDistances,
  emitEigenPowers,
  emitExchangeRows,
  emitIdentityMatrices,
  emitKron,
  emitMergeCodes,
  emitMovePieces,
  emitNewtonFactor,
  emitNewtonStart,
  emitOneNorms,
  emitPackMatrices,
  emitScaleMatrices,
  emitSingularReciprocals,
  emitSmallSolve,
  emitUnpackMatrices,
  type CudaKernel,
  type Scalars,
} from '@mercer/kernels';
import type { PointerArgument } from '@mercer/tensor';
import type { Within } from './cuda-call.js';

/** One kernel value for each choice of types, so that a device finds what it has loaded. */
function once<A extends readonly string[]>(emit: (...types: A) => CudaKernel) {
  const made = new Map<string, CudaKernel>();
  return (...types: A): CudaKernel => {
    const key = types.join(' ');
    const kernel = made.get(key) ?? emit(...types);
    made.set(key, kernel);
    return kernel;
  };
}

/** The kernels of this package. */
export const kernels = {
  addCorrections: once(emitAddCorrections),
  advance: once(emitAdvance),
  conditions: once(emitConditions),
  determinants: once(emitDeterminants),
  diagonalMeans: once(emitDiagonalMeans),
  diagonalZeros: once(emitDiagonalZeros),
  distances: once(emitDistances),
  eigenPowers: once(emitEigenPowers),
  exchangeRows: once(emitExchangeRows),
  identity: once(emitIdentityMatrices),
  kron: once(emitKron),
  mergeCodes: once(emitMergeCodes),
  movePieces: once(emitMovePieces),
  newtonFactor: once(emitNewtonFactor),
  newtonStart: once(emitNewtonStart),
  oneNorms: once(emitOneNorms),
  pack: once(emitPackMatrices),
  scale: once(emitScaleMatrices),
  singularReciprocals: once(emitSingularReciprocals),
  smallSolve: once(emitSmallSolve),
  unpack: once(emitUnpackMatrices),
};

/** Enqueues a kernel; pointers go by the names of its parameters, and what is not given is address 0. @throws the signal's reason */
export async function launch(
  { stream, signal }: Within,
  kernel: CudaKernel,
  pointers: Readonly<Record<string, PointerArgument | undefined>>,
  scalars: Scalars,
): Promise<void> {
  const loaded = await stream.device.load(kernel, { signal });
  await stream.room({ signal });
  const given = kernel.params.filter(({ kind }) => kind === 'pointer');
  loaded.launch(stream, { pointers: given.map(({ name }) => pointers[name] ?? 0n), scalars });
}
