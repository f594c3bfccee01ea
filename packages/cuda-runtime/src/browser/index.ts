import { LibraryNotFoundError } from '../errors.js';
import type { LibraryReport } from '../library/library-report.js';

export {
  AddonNotFoundError,
  CublasError,
  CudaError,
  CusolverError,
  LibraryNotFoundError,
  NcclError,
  NvrtcError,
  OutOfMemoryError,
} from '../errors.js';

const report = (): LibraryReport => ({
  found: false,
  attempts: [],
  remedy: 'A page reaches no CUDA. Run the program in Node.',
});

function refuse(): never {
  throw new LibraryNotFoundError(`CUDA cannot be reached: ${report().remedy ?? ''}`, 'CUDA', []);
}

/** In the place of the package where a bundler makes a program for browsers: what others ask of it, and that nothing was found. */
const absent = { isAvailable: () => false, report, assertAvailable: refuse } as const;

export const cuda = {
  isAvailable: absent.isAvailable,
  report: () => ({ driver: report(), nvrtc: report(), devices: [] }),
  deviceCount: refuse,
  device: refuse,
} as const;
export const nvrtc = { ...absent, version: refuse, identity: refuse, supportedArchs: refuse };
export const cublas = absent;
export const cublasLt = absent;
export const cusolver = absent;
export const nccl = { ...absent, uniqueId: refuse, join: refuse } as const;
export const enqueueMatmul = refuse;
