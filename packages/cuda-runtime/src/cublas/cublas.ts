import type { LibraryReport } from '../library/library-report.js';
import { cublasReport, requireCublas } from '../library/open-libraries.js';
import { handleOf } from '../native/owned.js';
import type { CudaStream } from '../stream.js';
import { getrfBatched, getrsBatched } from './batched-lu.js';
import { trsm, trsmBatched } from './triangular.js';

/**
 * cuBLAS's triangular solves and batched LU on a stream, under their own names (its products are in
 * `cublasLt`). Matrices are column-major. All calls only enqueue and can be captured in a graph once the
 * stream's handle is made. Failures are `CublasError`. Nothing is opened before the first call.
 */
export const cublas = {
  /** True if cuBLAS of CUDA 12 or 13 opens. Never throws. */
  isAvailable(): boolean {
    return cublasReport().found;
  },

  /** Where it was found, or every place tried and what to do. Never throws. */
  report(): LibraryReport {
    return cublasReport();
  },

  /** Opens it. @throws LibraryNotFoundError with every place tried */
  assertAvailable(): void {
    requireCublas();
  },

  /**
   * Makes the stream's handle and its 32 MiB of workspace on its solver thread. The first call on a stream
   * does it otherwise, which takes long, may wait for the device, and is refused (`CAPTURING`) during a
   * capture.
   *
   * @see cublasCreate, cublasSetStream, cublasSetWorkspace: https://docs.nvidia.com/cuda/cublas/index.html
   */
  async prepare(stream: CudaStream): Promise<void> {
    await requireCublas().blasPrepare(handleOf(stream, 'CudaStream'));
  },

  trsm,
  trsmBatched,
  getrfBatched,
  getrsBatched,
};
