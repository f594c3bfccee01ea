import { cublas, cublasLt, cusolver } from '@mercer/cuda-runtime';

/** A library that routines call. */
export type LibraryName = 'cublas' | 'cublasLt' | 'cusolver';

/** Opens libraries. @throws LibraryNotFoundError for the first that is missing */
export function assertLibraries(names: readonly LibraryName[]): void {
  const libraries = { cublas, cublasLt, cusolver };
  for (const name of names) libraries[name].assertAvailable();
}
