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
import type { Device, LoadedKernel, LoadOptions, PointerArgument } from '@mercer/tensor';
import { waited, type Enqueuing } from '@mercer/tensor/operation';
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

/** Those that a device has loaded: there are some tens of them at most. */
const loadedOn = new WeakMap<Device, Map<CudaKernel, LoadedKernel>>();

/** Loads a kernel, or finds it. @throws the compiler's or the loader's error, the signal's reason */
async function load(
  device: Device,
  kernel: CudaKernel,
  options: LoadOptions,
): Promise<LoadedKernel> {
  const made = await device.load(kernel, options);
  const known = loadedOn.get(device) ?? new Map<CudaKernel, LoadedKernel>();
  // One that prints is for this call alone.
  if ((options.debug ?? false) === false) loadedOn.set(device, known.set(kernel, made));
  return made;
}

/** Loads a kernel for later calls, of which those that are prepared cannot wait for it. @throws as {@link load} */
export async function loadKept(
  device: Device,
  kernel: CudaKernel,
  options: LoadOptions,
): Promise<void> {
  const { debug, signal } = options;
  await load(device, kernel, options);
  if ((debug ?? false) !== false) await load(device, kernel, { signal });
}

/** A kernel, which is waited for where it is not loaded yet. */
export function* loaded(
  { stream: { device }, signal, debug }: Within,
  kernel: CudaKernel,
): Enqueuing<LoadedKernel> {
  const known = (debug ?? false) === false ? loadedOn.get(device)?.get(kernel) : undefined;
  return known ?? (yield* waited(() => load(device, kernel, { signal, debug })));
}

/** Waits until a launch would not block. */
export function* room({ stream, signal }: Within): Enqueuing {
  yield { until: () => stream.room({ signal }), isOptional: true };
}

/** Enqueues a kernel; pointers go by the names of its parameters, and what is not given is address 0. @throws the signal's reason */
export function* launch(
  within: Within,
  kernel: CudaKernel,
  pointers: Readonly<Record<string, PointerArgument | undefined>>,
  scalars: Scalars,
): Enqueuing {
  const launched = yield* loaded(within, kernel);
  yield* room(within);
  const given = kernel.params.filter(({ kind }) => kind === 'pointer');
  launched.launch(within.stream, {
    pointers: given.map(({ name }) => pointers[name] ?? 0n),
    scalars,
  });
}
