import { cublas, cublasLt, cusolver, device, lapack } from '@mercer/core';

/** Whose linear algebra a device has, and where it runs. */
export interface LinearAlgebra {
  readonly solvedOn: string;
  readonly solver: string;
}

/** The device's own linear algebra; that of the CPU where a GPU's libraries are not found, or nothing. */
export function linearAlgebraOf(deviceId: string): LinearAlgebra | undefined {
  const { kind, id } = device(deviceId as 'cpu');
  if (kind === 'cuda' && [cusolver, cublas, cublasLt].every((one) => one.isAvailable())) {
    const { version } = cusolver.report();
    return { solvedOn: id, solver: version === undefined ? 'cuSOLVER' : `cuSOLVER ${version}` };
  }
  if (!lapack.isAvailable()) return undefined;
  return { solvedOn: 'cpu', solver: lapack.report().vendor ?? 'LAPACK' };
}
