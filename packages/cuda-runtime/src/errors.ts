import { MercerError } from '@mercer/options';

/** One place that was tried for a library, and why it did not do. An empty `error` means it did. */
export interface LoadAttempt {
  readonly path: string;
  readonly error: string;
}

/** A misuse of this package, found before the driver was called or by the addon. */
export type CudaMisuseCode =
  | 'INVALID_ARGUMENT'
  | 'OUT_OF_RANGE'
  | 'DISPOSED'
  | 'DEVICE_MISMATCH'
  | 'TWO_COPIES'
  | 'CAPTURING'
  | 'NOT_CAPTURING'
  | 'NOT_READY'
  | 'NOT_RECORDED'
  | 'NOT_SUPPORTED'
  | 'NO_EXTERNAL_BUFFERS'
  | 'NO_PEER_ACCESS'
  | 'NO_SUCH_DEVICE'
  | 'NO_SUCH_FUNCTION'
  | 'NO_SUCH_VARIABLE'
  | 'NO_TIMING'
  | 'INVALID_HANDLE'
  | 'FORKED'
  | 'DRIVER_NOT_LOADED'
  | 'NVRTC_NOT_LOADED'
  | 'CUSOLVER_NOT_LOADED'
  | 'CUBLASLT_NOT_LOADED'
  | 'CUBLAS_NOT_LOADED'
  | 'NCCL_NOT_LOADED'
  | 'GROUP_MISMATCH'
  | 'GROUP_ENDED';

/** Why a call failed: the word for a misuse, or the driver's name of its error. */
export type CudaErrorCode =
  CudaMisuseCode | 'DRIVER_TOO_OLD' | 'OUT_OF_MEMORY' | `CUDA_ERROR_${string}`;

/** What is known about a failing driver call or a misuse. */
export interface CudaErrorFields {
  readonly code: CudaErrorCode;
  readonly status?: number;
  readonly name: string;
  readonly call: string;
  readonly device?: number;
  readonly cause?: unknown;
}

/**
 * A CUDA driver call failed, or the API was misused.
 *
 * `code` is the driver's name of the error (`CUDA_ERROR_ILLEGAL_ADDRESS`) for a failed call, and a word (`'DISPOSED'`,
 * `'OUT_OF_RANGE'`, ...) for a misuse; a driver that is too old is `'DRIVER_TOO_OLD'`, memory that cannot be had
 * `'OUT_OF_MEMORY'`. `status` is the driver's number (700). `name` is the driver's name of the error or `CudaError`; `call` is
 * the driver function, or an empty string.
 */
export class CudaError extends MercerError {
  declare readonly code: CudaErrorCode;
  /** The driver's number of the error; undefined for a misuse. */
  readonly status: number | undefined;
  readonly call: string;
  /** Index of the device concerned, if there is one. */
  readonly device: number | undefined;
  constructor(message: string, fields: CudaErrorFields) {
    super(fields.code, message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = fields.name;
    this.status = fields.status;
    this.call = fields.call;
    this.device = fields.device;
  }
}

/** Device memory (or page-locked host memory) could not be had, also after trimming the pool. */
export class OutOfMemoryError extends CudaError {
  /** Bytes asked for. */
  readonly requested: number;
  /** Bytes the driver reported as free when the call failed. */
  readonly free: number;
  /** Bytes of this process's device buffers alive at that time. */
  readonly live: number;
  constructor(
    message: string,
    fields: CudaErrorFields & {
      readonly requested: number;
      readonly free: number;
      readonly live: number;
    },
  ) {
    super(message, fields);
    this.requested = fields.requested;
    this.free = fields.free;
    this.live = fields.live;
  }
}

/** NVRTC refused a program or failed. `code` is its name of the error (`NVRTC_ERROR_COMPILATION`), `log` the compiler's output. */
export class NvrtcError extends MercerError {
  declare readonly code: `NVRTC_ERROR_${string}`;
  /** NVRTC's number of the error (6). */
  readonly status: number;
  /** Compiler output, `file(line): error: ...` per message. */
  readonly log: string;
  /** The source that was compiled. */
  readonly source: string;
  /** The NVRTC function that failed. */
  readonly call: string;
  constructor(
    message: string,
    fields: { status: number; name: string; log: string; source: string; call: string },
  ) {
    super(fields.name, message);
    this.name = fields.name;
    this.status = fields.status;
    this.log = fields.log;
    this.source = fields.source;
    this.call = fields.call;
  }
}

/** What is known about a failing call of cuSOLVER, cuBLASLt, cuBLAS or NCCL. */
export interface StatusErrorFields {
  readonly status: number;
  readonly name: string;
  readonly call: string;
  readonly device: number;
}

/**
 * A library of the toolkit refused a call. `code` and `name` are its name of the status (`CUSOLVER_STATUS_INVALID_VALUE`),
 * `status` its number (3), `call` its function.
 */
abstract class StatusError extends MercerError {
  readonly status: number;
  readonly call: string;
  /** Index of the device concerned. */
  readonly device: number;
  constructor(message: string, fields: StatusErrorFields) {
    super(fields.name, message);
    this.name = fields.name;
    this.status = fields.status;
    this.call = fields.call;
    this.device = fields.device;
  }
}

/** A call of cuSOLVER failed. A matrix that cannot be factored is no failure: its info says so. */
export class CusolverError extends StatusError {
  declare readonly code: `CUSOLVER_STATUS_${string}`;
}

/** A call of cuBLASLt or cuBLAS failed. */
export class CublasError extends StatusError {
  declare readonly code: `CUBLAS_STATUS_${string}`;
}

/**
 * A call of NCCL failed, which ends the group. `code` is its name of the result (`NCCL_REMOTE_ERROR`), `NCCL_TIMEOUT` where not all ranks came in
 * time, or `NCCL_ABORTED`.
 */
export class NcclError extends StatusError {
  declare readonly code: `NCCL_${string}`;
}

/** A shared library could not be opened. `attempts` lists every place tried, in order. */
export class LibraryNotFoundError extends MercerError {
  declare readonly code: 'LIBRARY_NOT_FOUND' | 'ADDON_NOT_FOUND';
  readonly library: string;
  readonly attempts: readonly LoadAttempt[];
  constructor(
    message: string,
    library: string,
    attempts: readonly LoadAttempt[],
    code: 'LIBRARY_NOT_FOUND' | 'ADDON_NOT_FOUND' = 'LIBRARY_NOT_FOUND',
  ) {
    super(code, message);
    this.name = 'LibraryNotFoundError';
    this.library = library;
    this.attempts = attempts;
  }
}

/** The compiled part of this package could not be loaded. `attempts` lists every file tried. */
export class AddonNotFoundError extends LibraryNotFoundError {
  declare readonly code: 'ADDON_NOT_FOUND';
  constructor(message: string, attempts: readonly LoadAttempt[]) {
    super(message, '@mercer/cuda-runtime addon', attempts, 'ADDON_NOT_FOUND');
    this.name = 'AddonNotFoundError';
  }
}

/** A misuse found before anything was called. */
export function misuse(code: CudaMisuseCode, message: string, cause?: unknown): CudaError {
  return new CudaError(message, { code, name: 'CudaError', call: '', cause });
}
