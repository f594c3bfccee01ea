import type { LibraryReport } from '../library/library-report.js';
import { cusolverReport, requireCusolver } from '../library/open-libraries.js';
import { handleOf } from '../native/owned.js';
import type { CudaStream } from '../stream.js';
import { potrfBatched, potrsBatched } from './batched-cholesky.js';
import { potrf, potrfWorkspace, potrs } from './cholesky.js';
import { syevBatched, syevBatchedWorkspace, syevd, syevdWorkspace } from './eigen.js';
import { getrf, getrfWorkspace, getrs } from './lu.js';
import { geqrf, geqrfWorkspace, ormqr, ormqrWorkspace } from './qr.js';
import { gesvd, gesvdWorkspace } from './svd.js';

/**
 * cuSOLVER's dense calls on a stream, under their own names. Matrices are column-major; an `info` is
 * an int32 in device memory, never read here. Calls that return nothing only enqueue and can be
 * captured in a graph; those that return a promise wait inside the library, on a thread of the
 * stream. Failures are `CusolverError`. Nothing is opened before the first call.
 */
export const cusolver = {
  /** True if cuSOLVER of CUDA 12 or 13 opens. Never throws. */
  isAvailable(): boolean {
    return cusolverReport().found;
  },

  /** Where it was found, or every place tried and what to do. Never throws. */
  report(): LibraryReport {
    return cusolverReport();
  },

  /** Opens it. @throws LibraryNotFoundError with every place tried */
  assertAvailable(): void {
    requireCusolver();
  },

  /**
   * Makes the stream's handles on its solver thread. The first call on a stream does it otherwise,
   * which takes long, may wait for the device, and is refused (`CAPTURING`) during a capture.
   *
   * @see cusolverDnCreate, cusolverDnCreateParams, cusolverDnSetStream: https://docs.nvidia.com/cuda/cusolver/index.html
   */
  async prepare(stream: CudaStream): Promise<void> {
    await requireCusolver().solverPrepare(handleOf(stream, 'CudaStream'));
  },

  potrfWorkspace,
  potrf,
  potrs,
  potrfBatched,
  potrsBatched,
  getrfWorkspace,
  getrf,
  getrs,
  geqrfWorkspace,
  geqrf,
  ormqrWorkspace,
  ormqr,
  syevdWorkspace,
  syevd,
  syevBatchedWorkspace,
  syevBatched,
  gesvdWorkspace,
  gesvd,
};
