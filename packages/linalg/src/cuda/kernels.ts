import {
  emitAddCorrections,
  emitAdvance,
  emitConditions,
  emitCopyPieces,
  emitDeterminants,
  emitDiagonalMeans,
  emitDiagonalZeros,
  emitEigenPowers,
  emitExchangeRows,
  emitIdentityMatrices,
  emitKron,
  emitMergeCodes,
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
import { isOnlyAsked, waited, type Enqueuing } from '@mercer/tensor/operation';
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
  copyPieces: once(emitCopyPieces),
  determinants: once(emitDeterminants),
  diagonalMeans: once(emitDiagonalMeans),
  diagonalZeros: once(emitDiagonalZeros),
  eigenPowers: once(emitEigenPowers),
  exchangeRows: once(emitExchangeRows),
  identity: once(emitIdentityMatrices),
  kron: once(emitKron),
  mergeCodes: once(emitMergeCodes),
  oneNorms: once(emitOneNorms),
  pack: once(emitPackMatrices),
  scale: once(emitScaleMatrices),
  singularReciprocals: once(emitSingularReciprocals),
  smallSolve: once(emitSmallSolve),
  unpack: once(emitUnpackMatrices),
};

/** Those that a device has loaded, by who is told of their launches: there are some tens of them at most. */
const loadedOn = new WeakMap<Device, WeakMap<object, Map<CudaKernel, LoadedKernel>>>();

const NOBODY = {};
const CONSOLE = {};

function loadedFor(device: Device, { debug }: LoadOptions): Map<CudaKernel, LoadedKernel> {
  const told = typeof debug === 'function' ? debug : debug === true ? CONSOLE : NOBODY;
  const known = loadedOn.get(device) ?? new WeakMap<object, Map<CudaKernel, LoadedKernel>>();
  loadedOn.set(device, known);
  const found = known.get(told) ?? new Map<CudaKernel, LoadedKernel>();
  known.set(told, found);
  return found;
}

/** Loads a kernel for later calls, of which those that are prepared cannot wait for it. @throws the compiler's or the loader's error, the signal's reason */
export async function loadKept(
  device: Device,
  kernel: CudaKernel,
  options: LoadOptions,
): Promise<LoadedKernel> {
  const made = await device.load(kernel, options);
  if (!isOnlyAsked()) loadedFor(device, options).set(kernel, made);
  return made;
}

/** A kernel, which is waited for where it is not loaded yet. */
export function* loaded(
  { stream: { device }, signal, debug }: Within,
  kernel: CudaKernel,
): Enqueuing<LoadedKernel> {
  const options = { signal, debug };
  const known = loadedFor(device, options).get(kernel);
  if (known !== undefined) return known;
  // What an ordinary call prints is its own: the next one loads, and tells of it, again.
  const isQuiet = (debug ?? false) === false;
  return yield* waited(() =>
    isQuiet ? loadKept(device, kernel, options) : device.load(kernel, options),
  );
}

/** Waits for several kernels, which are compiled side by side: on the way a call would wait for one after the other. */
export function* loadedTogether(
  { stream: { device }, signal, debug }: Within,
  wanted: readonly CudaKernel[],
): Enqueuing {
  const options = { signal, debug };
  const known = loadedFor(device, options);
  const missing = wanted.filter((kernel) => !known.has(kernel));
  if (missing.length === 0) return;
  const isQuiet = (debug ?? false) === false;
  yield* waited(() =>
    Promise.all(
      missing.map((kernel) =>
        isQuiet ? loadKept(device, kernel, options) : device.load(kernel, options),
      ),
    ),
  );
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
