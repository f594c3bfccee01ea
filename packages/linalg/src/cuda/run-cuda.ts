import type { CudaKernel } from '@mercer/kernels';
import type { LoadOptions } from '@mercer/tensor';
import { whenEnqueued, type CallRoutine } from '@mercer/tensor/operation';
import type { LinalgDType, Setting } from '../checks.js';
import { argumentsOf, type PlannedArguments } from '../routine.js';
import { routines, type FieldsOf, type RoutineName } from '../routines.js';
import { cholesky } from './cholesky.js';
import type { CudaCall, CudaRoutine } from './cuda-call.js';
import { eigh } from './eigh.js';
import { gemm, gemmTf32, gemmTf32x3 } from './gemm.js';
import { splitKernels } from './gemm/split-factor.js';
import { kernels, load } from './kernels.js';
import { kron } from './kron.js';
import { lstsq } from './lstsq.js';
import { namingTheLibrary } from './naming-the-library.js';
import { eigenPower, inverseRoot } from './powers.js';
import { qr } from './qr.js';
import { refinedCholesky, refinedLU } from './refined-solve.js';
import { solveCholesky, solveLU } from './solve.js';
import { countOf } from './scratch.js';
import { FACTOR_STREAMS } from './spread.js';
import { condition, inverse, logdet } from './square-functions.js';
import { prepared, solverStreams } from './streams.js';
import { svd } from './svd.js';
import { triangularSolve } from './triangular-solve.js';

/** How a GPU computes each routine. */
const cudaRoutines: { readonly [K in RoutineName]: CudaRoutine<FieldsOf<K>> } = {
  solveCholesky,
  solveLU,
  refinedCholesky,
  refinedLU,
  triangularSolve,
  cholesky,
  eigh,
  inverse,
  logdet,
  condition,
  qr,
  svd,
  lstsq,
  gemm,
  gemmTf32,
  gemmTf32x3,
  kron,
  eigenPower,
  inverseRoot,
};

/** The kernels around a library's work on matrices of one dtype. */
const around = (dtype: LinalgDType): CudaKernel[] => [
  kernels.pack(dtype, dtype),
  kernels.unpack(dtype, dtype),
  kernels.identity(dtype),
  kernels.mergeCodes(),
  kernels.movePieces(),
  kernels.advance(),
];

const refinedKernels = (dtype: LinalgDType): CudaKernel[] => [
  ...around('float64'),
  kernels.pack(dtype, 'float64'),
  kernels.pack(dtype, 'float32'),
  kernels.pack('float64', 'float32'),
  kernels.unpack('float64', dtype),
  kernels.addCorrections(),
];

/**
 * The kernels that a routine may launch, whatever its sizes are, of those that never wait for the device: a prepared call has all of
 * them, and streams for the library. Undefined for routines that wait, which load their kernels on the way.
 */
const KERNELS: {
  readonly [K in RoutineName]: ((dtype: LinalgDType) => readonly CudaKernel[]) | undefined;
} = {
  solveCholesky: (dtype) => [...around(dtype), kernels.smallSolve('cholesky', dtype)],
  solveLU: (dtype) => [
    ...around(dtype),
    kernels.smallSolve('lu', dtype),
    kernels.exchangeRows(dtype),
  ],
  refinedCholesky: refinedKernels,
  refinedLU: refinedKernels,
  triangularSolve: (dtype) => [...around(dtype), kernels.diagonalZeros(dtype)],
  cholesky: around,
  inverse: around,
  logdet: (dtype) => [...around(dtype), kernels.determinants(dtype)],
  condition: (dtype) => [...around(dtype), kernels.oneNorms(dtype), kernels.conditions(dtype)],
  qr: around,
  gemm: () => [],
  gemmTf32: () => [],
  gemmTf32x3: () => Object.values(splitKernels),
  kron: (dtype) => [kernels.kron(dtype)],
  eigh: undefined,
  svd: undefined,
  lstsq: undefined,
  eigenPower: undefined,
  inverseRoot: undefined,
};

/** Routines that use no library, or one that needs no handles. */
const WITHOUT_HANDLES: ReadonlySet<RoutineName> = new Set([
  'gemm',
  'gemmTf32',
  'gemmTf32x3',
  'kron',
]);

/** A routine of a planned call on a GPU. */
export function cudaRoutine<K extends RoutineName>(
  name: K,
  setting: Setting,
  planned: PlannedArguments<FieldsOf<K>>,
): CallRoutine {
  const { device, dtype } = setting;
  return {
    prepare: async (options: LoadOptions) => {
      const needed = KERNELS[name]?.(dtype) ?? [];
      await Promise.all(needed.map((kernel) => load(device, kernel, options)));
      if (needed.length === 0 || WITHOUT_HANDLES.has(name)) return;
      await whenEnqueued(
        namingTheLibrary(setting, function* () {
          yield* prepared(device.defaultStream);
          yield* solverStreams(device, FACTOR_STREAMS);
        }),
      );
    },
    enqueue: (call) =>
      namingTheLibrary(setting, function* () {
        if (countOf(setting.batchShape) === 0) return;
        const args = argumentsOf(routines[name], planned, call) as CudaCall<FieldsOf<K>>['args'];
        yield* cudaRoutines[name]({ ...call, setting, args, onProgress: call.onProgress });
      }),
  };
}
