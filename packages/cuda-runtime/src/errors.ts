/** One place that was tried for a library, and why it did not do. An empty `error` means it did. */
export interface LoadAttempt {
  readonly path: string;
  readonly error: string;
}

/** What is known about a failing driver call or a misuse. */
export interface CudaErrorFields {
  readonly code: number | string;
  readonly name: string;
  readonly call: string;
  readonly device?: number;
  readonly cause?: unknown;
}

/**
 * A CUDA driver call failed, or the API was misused.
 *
 * `code` is the driver's number (700) for a failed call and a word (`'DISPOSED'`,
 * `'DRIVER_TOO_OLD'`, `'OUT_OF_RANGE'`, ...) for a misuse; `name` is the driver's name of the error
 * (`CUDA_ERROR_ILLEGAL_ADDRESS`) or `CudaError`; `call` is the driver function, or an empty string.
 */
export class CudaError extends Error {
  readonly code: number | string;
  readonly call: string;
  /** Index of the device concerned, if there is one. */
  readonly device: number | undefined;
  constructor(message: string, fields: CudaErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = fields.name;
    this.code = fields.code;
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

/** NVRTC refused a program or failed. `log` is the compiler's output. */
export class NvrtcError extends Error {
  readonly code: number;
  /** Compiler output, `file(line): error: ...` per message. */
  readonly log: string;
  /** The source that was compiled. */
  readonly source: string;
  /** The NVRTC function that failed. */
  readonly call: string;
  constructor(
    message: string,
    fields: { code: number; name: string; log: string; source: string; call: string },
  ) {
    super(message);
    this.name = fields.name;
    this.code = fields.code;
    this.log = fields.log;
    this.source = fields.source;
    this.call = fields.call;
  }
}

/** What is known about a failing call of cuSOLVER, cuBLASLt or cuBLAS. */
export interface StatusErrorFields {
  readonly code: number;
  readonly name: string;
  readonly call: string;
  readonly device: number;
}

/**
 * A library of the toolkit refused a call. `code` is its status (3), `name` the status's name
 * (`CUSOLVER_STATUS_INVALID_VALUE`), `call` its function.
 */
abstract class StatusError extends Error {
  readonly code: number;
  readonly call: string;
  /** Index of the device concerned. */
  readonly device: number;
  constructor(message: string, fields: StatusErrorFields) {
    super(message);
    this.name = fields.name;
    this.code = fields.code;
    this.call = fields.call;
    this.device = fields.device;
  }
}

/** A call of cuSOLVER failed. A matrix that cannot be factored is no failure: its info says so. */
export class CusolverError extends StatusError {}

/** A call of cuBLASLt or cuBLAS failed. */
export class CublasError extends StatusError {}

/** A shared library could not be opened. `attempts` lists every place tried, in order. */
export class LibraryNotFoundError extends Error {
  readonly code: string = 'LIBRARY_NOT_FOUND';
  readonly library: string;
  readonly attempts: readonly LoadAttempt[];
  constructor(message: string, library: string, attempts: readonly LoadAttempt[]) {
    super(message);
    this.name = 'LibraryNotFoundError';
    this.library = library;
    this.attempts = attempts;
  }
}

/** The compiled part of this package could not be loaded. `attempts` lists every file tried. */
export class AddonNotFoundError extends LibraryNotFoundError {
  override readonly code = 'ADDON_NOT_FOUND';
  constructor(message: string, attempts: readonly LoadAttempt[]) {
    super(message, '@mercer/cuda-runtime addon', attempts);
    this.name = 'AddonNotFoundError';
  }
}

/** A misuse found before anything was called. */
export function misuse(code: string, message: string, cause?: unknown): CudaError {
  return new CudaError(message, { code, name: 'CudaError', call: '', cause });
}
