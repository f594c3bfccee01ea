import type { LibraryReport } from '../library/library-report.js';
import { cublasLtReport, requireCublasLt } from '../library/open-libraries.js';
import { matmul } from './matmul.js';

/** cuBLASLt's matrix product. Failures are `CublasError`. Nothing is opened before the first call. */
export const cublasLt = {
  /** True if cuBLASLt of CUDA 12 or 13 opens. Never throws. */
  isAvailable(): boolean {
    return cublasLtReport().found;
  },

  /** Where it was found, or every place tried and what to do. Never throws. */
  report(): LibraryReport {
    return cublasLtReport();
  },

  /** Opens it. @throws LibraryNotFoundError with every place tried */
  assertAvailable(): void {
    requireCublasLt();
  },

  matmul,
};
