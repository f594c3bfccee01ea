import * as autodiff from '@mercer/autodiff';
import * as cpuRuntime from '@mercer/cpu-runtime';
import * as cudaRuntime from '@mercer/cuda-runtime';
import * as formulaPackage from '@mercer/formula';
import * as jitCache from '@mercer/jit-cache';
import * as kernels from '@mercer/kernels';
import * as lazyPackage from '@mercer/lazy';
import * as linalg from '@mercer/linalg';
import * as pairwise from '@mercer/pairwise';
import * as solvers from '@mercer/solvers';
import * as tensorPackage from '@mercer/tensor';
import * as npy from '@mercer/tensor/npy';
import { describe, expect, it } from 'vitest';
import {
  cholesky,
  grad,
  LazyError,
  lazyI,
  lazyJ,
  MercerError,
  tensor,
  type Tensor,
} from './index.js';

const { CudaError, CublasError, CusolverError, NcclError, NvrtcError } = cudaRuntime;
const cpu = { device: 'cpu' } as const;
const status = { status: 3, call: 'f', device: 0 };

const oneByOne = async (one: number): Promise<solvers.LinearOperator<'float32'>> =>
  solvers.denseOperator(await tensor([[one]], cpu));

type Case = readonly [error: abstract new (...args: never[]) => Error, code: string, name: string];

/** Each class with a call that throws it; for those that need a GPU or a broken machine, the error as it is made there. */
const CASES: readonly (readonly [...Case, thrown: () => unknown])[] = [
  [MercerError, 'SHAPE_MISMATCH', 'MercerError', () => tensor([[1, 2], [3]], cpu)],
  [npy.NpyError, 'NPY_TRUNCATED', 'NpyError', () => npy.decodeNpy(new Uint8Array([1, 2, 3]))],
  [
    formulaPackage.FormulaError,
    'INVALID_NAME',
    'FormulaError',
    () => formulaPackage.variable('x;y'),
  ],
  [
    autodiff.AutodiffError,
    'NOT_SCALAR',
    'AutodiffError',
    async () => grad((x: Tensor) => x)(await tensor([1, 2], cpu)),
  ],
  [LazyError, 'DIM_MISMATCH', 'LazyError', () => lazyI([[1, 2]]).sub(lazyJ([[1, 2, 3]]))],
  [
    linalg.NotPositiveDefiniteError,
    'NOT_POSITIVE_DEFINITE',
    'NotPositiveDefiniteError',
    async () => cholesky(await tensor([[-1]], cpu), { checkErrors: true }),
  ],
  [
    linalg.SingularMatrixError,
    'SINGULAR',
    'SingularMatrixError',
    async () =>
      linalg.solveLU(await tensor([[0]], cpu), await tensor([[1]], cpu), { checkErrors: true }),
  ],
  [
    linalg.NotFiniteError,
    'NOT_FINITE',
    'NotFiniteError',
    async () => cholesky(await tensor([[NaN]], cpu), { checkErrors: true }),
  ],
  [
    solvers.SolverError,
    'INDEFINITE',
    'SolverError',
    async () => solvers.cg(await oneByOne(-1), await tensor([1], cpu)),
  ],
  [
    solvers.NotConvergedError,
    'NOT_CONVERGED',
    'NotConvergedError',
    async () =>
      lazyI(await tensor([[1]], cpu))
        .mul(2)
        .solve(await tensor([1], cpu), { maxIterations: 0 }),
  ],
  made(new linalg.NotSemidefiniteError('f', [], 1), 'NOT_POSITIVE_DEFINITE'),
  made(new linalg.NoConvergenceError('f', [], 1), 'NO_CONVERGENCE'),
  made(new linalg.LinalgError('SINGULAR', 'f: it is singular.', []), 'SINGULAR'),
  [
    jitCache.CacheError,
    'INVALID_ARGUMENT',
    'CacheError',
    () => jitCache.JitCache.open({ Directory: '/' } as never),
  ],
  made(new jitCache.BatchError([new Error('one'), new Error('two')], 'two failed'), 'BATCH_FAILED'),
  made(new kernels.PlanError('LIMIT', 'too long', { ofText: true }), 'LIMIT'),
  [
    cpuRuntime.CpuRuntimeError,
    'INVALID_ARGUMENT',
    'CpuRuntimeError',
    () => cpuRuntime.cpu.interpret({ words: [], constants: [] }, { paramBytes: -1 }),
  ],
  [
    cpuRuntime.CompileError,
    'COMPILE_FAILED',
    'CompileError',
    () => cpuRuntime.cpu.compile({ source: 'this is no C++', level: cpuRuntime.cpu.info().level }),
  ],
  made(new cpuRuntime.OutOfMemoryError(1, 0), 'OUT_OF_MEMORY'),
  made(new cpuRuntime.CompilerNotFoundError([], 'install one'), 'COMPILER_NOT_FOUND'),
  made(new cpuRuntime.LapackNotFoundError([], 'install one'), 'LIBRARY_NOT_FOUND'),
  made(new cpuRuntime.AddonNotFoundError('f', [], []), 'ADDON_NOT_FOUND'),
  [
    CudaError,
    'INVALID_ARGUMENT',
    'CudaError',
    () => cudaRuntime.encodeTensorMap({ size: [1] } as never),
  ],
  made(
    new cudaRuntime.OutOfMemoryError('none', {
      code: 'OUT_OF_MEMORY',
      name: 'CUDA_ERROR_OUT_OF_MEMORY',
      call: 'cuMemAlloc',
      requested: 1,
      free: 0,
      live: 0,
    }),
    'OUT_OF_MEMORY',
    'CUDA_ERROR_OUT_OF_MEMORY',
  ),
  made(
    new NvrtcError('refused', {
      status: 6,
      name: 'NVRTC_ERROR_COMPILATION',
      log: '',
      source: '',
      call: 'nvrtcCompileProgram',
    }),
    'NVRTC_ERROR_COMPILATION',
    'NVRTC_ERROR_COMPILATION',
  ),
  made(
    new CusolverError('refused', { ...status, name: 'CUSOLVER_STATUS_INVALID_VALUE' }),
    'CUSOLVER_STATUS_INVALID_VALUE',
    'CUSOLVER_STATUS_INVALID_VALUE',
  ),
  made(
    new CublasError('refused', { ...status, name: 'CUBLAS_STATUS_INVALID_VALUE' }),
    'CUBLAS_STATUS_INVALID_VALUE',
    'CUBLAS_STATUS_INVALID_VALUE',
  ),
  made(
    new NcclError('refused', { ...status, name: 'NCCL_INVALID_USAGE' }),
    'NCCL_INVALID_USAGE',
    'NCCL_INVALID_USAGE',
  ),
  made(new cudaRuntime.LibraryNotFoundError('none', 'nvrtc', []), 'LIBRARY_NOT_FOUND'),
  made(new cudaRuntime.AddonNotFoundError('none', []), 'ADDON_NOT_FOUND'),
];

function made(
  error: Error,
  code: string,
  name = error.constructor.name,
): readonly [...Case, thrown: () => unknown] {
  return [error.constructor as Case[0], code, name, () => Promise.reject(error)];
}

async function errorOf(thrown: () => unknown): Promise<unknown> {
  return (async () => thrown())().then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('every error of Mercer', () => {
  it.each(CASES.map((one) => [one[2], one[1], one] as const))(
    'is a MercerError with a code: %s %s',
    async (name, code, [type, , , thrown]) => {
      const error = await errorOf(thrown);
      expect(error).toBeInstanceOf(type);
      expect(error).toBeInstanceOf(MercerError);
      expect(error).toMatchObject({ code, name });
      expect((error as Error).message).not.toBe('');
      expect((error as Error).stack).toContain((error as Error).message);
    },
  );

  it('is of a class in this table', () => {
    const packages = [
      ...[
        autodiff,
        cpuRuntime,
        cudaRuntime,
        formulaPackage,
        jitCache,
        kernels,
        lazyPackage,
        linalg,
      ],
      ...[npy, pairwise, solvers, tensorPackage],
    ] as readonly Record<string, unknown>[];
    const exported = packages.flatMap((all) =>
      Object.values(all).filter(
        (value) => typeof value === 'function' && value.prototype instanceof Error,
      ),
    );
    expect(exported.length).toBeGreaterThan(20);
    expect(new Set(exported)).toEqual(new Set(CASES.map(([type]) => type)));
  });

  it('keeps its cause', async () => {
    const error = await errorOf(() => lazyI([[1, 2]]).sub(lazyJ([[1, 2, 3]])));
    expect((error as Error).cause).toBeInstanceOf(formulaPackage.FormulaError);
    expect((error as Error).cause).toBeInstanceOf(MercerError);
  });
});
