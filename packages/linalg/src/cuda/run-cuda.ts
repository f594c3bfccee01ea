import type { CudaKernel } from '@mercer/kernels';
import type { LoadOptions } from '@mercer/tensor';
import {
  assertNotPreparing,
  atOnce,
  whenEnqueued,
  type CallRoutine,
  type RoutineCall,
} from '@mercer/tensor/operation';
import type { LinalgDType, Setting } from '../checks.js';
import { argumentsOf, type PlannedArguments } from '../routine.js';
import { routines, type CudaRoutineName, type FieldsOf } from '../routines.js';
import { cholesky } from './cholesky.js';
import type { CudaCall, CudaRoutine } from './cuda-call.js';
import { eigh } from './eigh.js';
import { gemm, gemmTf32, gemmTf32x3, productNow } from './gemm.js';
import { splitKernels } from './gemm/split-factor.js';
import { kernels, loadedTogether, loadKept } from './kernels.js';
import { kron } from './kron.js';
import { assertLibraries, type LibraryName } from './libraries.js';
import { lstsq } from './lstsq.js';
import { namingTheLibrary } from './naming-the-library.js';
import { eigenPower } from './powers.js';
import { qr } from './qr.js';
import { refinedCholesky, refinedLU } from './refined-solve.js';
import { solveCholesky, solveLibraries, solveLU } from './solve.js';
import { countOf } from './scratch.js';
import { FACTOR_STREAMS, SPECTRAL_STREAMS } from './spread.js';
import { condition, inverse, logdet } from './square-functions.js';
import { prepared, solverStreams } from './streams.js';
import { svd } from './svd.js';
import { triangularSolve } from './triangular-solve.js';

/** How a GPU computes each routine. */
const cudaRoutines: { readonly [K in CudaRoutineName]: CudaRoutine<FieldsOf<K>> } = {
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
};

/** The kernels around work on matrices of one dtype that a library waits for. */
const aroundWaits = (dtype: LinalgDType): CudaKernel[] => [
  kernels.pack(dtype, dtype),
  kernels.unpack(dtype, dtype),
  kernels.identity(dtype),
  kernels.mergeCodes(),
];

/** The kernels around a library's work that is enqueued. */
const around = (dtype: LinalgDType): CudaKernel[] => [
  ...aroundWaits(dtype),
  kernels.copyPieces(),
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

/** The kernels that a prepared call of a routine may launch, whatever its sizes are: it has all of them, and streams for the library. */
const KERNELS: { readonly [K in CudaRoutineName]: (dtype: LinalgDType) => readonly CudaKernel[] } =
  {
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
    eigh: aroundWaits,
    svd: aroundWaits,
    lstsq: (dtype) => [
      ...aroundWaits(dtype),
      kernels.singularReciprocals(dtype),
      kernels.scale(dtype),
    ],
    eigenPower: (dtype) => [
      ...aroundWaits(dtype),
      kernels.eigenPowers(dtype),
      kernels.scale(dtype),
    ],
  };

/** What every call around a factorisation launches that gives a matrix. */
const usual = (dtype: LinalgDType): CudaKernel[] => [
  kernels.pack(dtype, dtype),
  kernels.unpack(dtype, dtype),
  kernels.mergeCodes(),
];

const refinedUsual = (dtype: LinalgDType): CudaKernel[] => [
  kernels.pack(dtype, 'float64'),
  kernels.pack(dtype, 'float32'),
  kernels.pack('float64', 'float64'),
  kernels.pack('float64', 'float32'),
  kernels.unpack('float64', dtype),
  kernels.addCorrections(),
  kernels.mergeCodes(),
];

/** Those that an ordinary call launches for certain, whatever its plan. They are compiled side by side; others when a call comes to them. */
const LAUNCHED: typeof KERNELS = {
  ...KERNELS,
  solveCholesky: usual,
  solveLU: usual,
  refinedCholesky: refinedUsual,
  refinedLU: refinedUsual,
  triangularSolve: (dtype) => [...usual(dtype), kernels.diagonalZeros(dtype)],
  cholesky: usual,
  inverse: aroundWaits,
  logdet: (dtype) => [
    kernels.pack(dtype, dtype),
    kernels.mergeCodes(),
    kernels.determinants(dtype),
  ],
  condition: (dtype) => [
    kernels.pack(dtype, dtype),
    kernels.identity(dtype),
    kernels.mergeCodes(),
    kernels.oneNorms(dtype),
    kernels.conditions(dtype),
  ],
  qr: aroundWaits,
};

type Needs = {
  readonly [K in CudaRoutineName]: (call: CudaCall<FieldsOf<K>>) => readonly LibraryName[];
};

const bySolver = (): readonly LibraryName[] => ['cusolver'];
const bySolverAndProducts = (): readonly LibraryName[] => ['cusolver', 'cublasLt'];
const byProducts = (): readonly LibraryName[] => ['cublasLt'];

/** The libraries that the work of a routine calls. */
const LIBRARIES: Needs = {
  solveCholesky: (call) => solveLibraries(call, true),
  solveLU: (call) => solveLibraries(call, false),
  refinedCholesky: bySolverAndProducts,
  refinedLU: bySolverAndProducts,
  triangularSolve: () => ['cusolver', 'cublas'],
  cholesky: bySolver,
  inverse: bySolver,
  logdet: bySolver,
  condition: bySolver,
  qr: bySolver,
  svd: bySolver,
  eigh: bySolver,
  lstsq: bySolverAndProducts,
  eigenPower: bySolverAndProducts,
  gemm: byProducts,
  gemmTf32: byProducts,
  gemmTf32x3: byProducts,
  kron: () => [],
};

/** Routines that use no library, or one that needs no handles. */
const WITHOUT_HANDLES: ReadonlySet<CudaRoutineName> = new Set([
  'gemm',
  'gemmTf32',
  'gemmTf32x3',
  'kron',
]);

/** Routines whose library waits. */
const SPECTRAL: ReadonlySet<CudaRoutineName> = new Set(['eigh', 'svd', 'lstsq', 'eigenPower']);

/** Products that one call of the library may be, and what it computes in; undefined: the operands' dtype. */
const COMPUTES = { gemm: undefined, gemmTf32: 'tf32' } as const;

const isProduct = (name: CudaRoutineName): name is keyof typeof COMPUTES =>
  Object.hasOwn(COMPUTES, name);

/** A routine of a planned call on a GPU. */
export function cudaRoutine<K extends CudaRoutineName>(
  name: K,
  setting: Setting,
  planned: PlannedArguments<FieldsOf<K>>,
): CallRoutine {
  const { device, dtype } = setting;
  const callOf = (call: RoutineCall): CudaCall<FieldsOf<K>> => {
    const args = argumentsOf(routines[name], planned, call) as CudaCall<FieldsOf<K>>['args'];
    return { ...call, setting, args, onProgress: call.onProgress };
  };
  /** Whether the libraries were found, which are not looked for again. */
  let hasLibraries = false;
  const launched = LAUNCHED[name](dtype);
  const now = isProduct(name) ? productNow(setting, planned as never, COMPUTES[name]) : undefined;
  const routine: CallRoutine = {
    now:
      now &&
      ((call) => {
        if (hasLibraries && call.scalars['alpha'] !== 0) {
          now(call);
        } else {
          atOnce(routine.ready(call));
          atOnce(routine.enqueue(call));
        }
      }),
    prepare: async (options: LoadOptions) => {
      await Promise.all(KERNELS[name](dtype).map((kernel) => loadKept(device, kernel, options)));
      if (WITHOUT_HANDLES.has(name)) return;
      await whenEnqueued(
        namingTheLibrary(setting, function* () {
          yield* prepared(device.defaultStream);
          yield* solverStreams(device, SPECTRAL.has(name) ? SPECTRAL_STREAMS : FACTOR_STREAMS);
        }),
      );
    },
    ready: (call) =>
      namingTheLibrary(setting, function* () {
        if (SPECTRAL.has(name)) assertNotPreparing(setting.what, 'waits inside a library');
        if (countOf(setting.batchShape) === 0) return;
        if (hasLibraries && WITHOUT_HANDLES.has(name)) return;
        const wanted = LIBRARIES[name](callOf(call));
        if (wanted.length === 0) return;
        // A compiler that is missing shows before a library that is.
        yield* loadedTogether(call, launched);
        if (planned.a.rows * planned.a.columns === 0) return;
        if (!WITHOUT_HANDLES.has(name)) yield* prepared(call.stream);
        assertLibraries(wanted);
        hasLibraries = true;
      }),
    enqueue: (call) =>
      namingTheLibrary(setting, function* () {
        if (countOf(setting.batchShape) === 0) return;
        yield* cudaRoutines[name](callOf(call));
      }),
  };
  return routine;
}
