import { cublas, cublasLt, cusolver, type LibraryReport } from '@mercer/core';

/** The libraries of the CUDA toolkit that dense linear algebra on a GPU rests on. */
export type CudaLibraries = Readonly<Record<'cusolver' | 'cublasLt' | 'cublas', LibraryReport>>;

/** Opens them, which takes up to a second each where they are installed. Never throws. */
export function cudaLibraries(): CudaLibraries {
  return {
    cusolver: cusolver.report(),
    cublasLt: cublasLt.report(),
    cublas: cublas.report(),
  };
}
