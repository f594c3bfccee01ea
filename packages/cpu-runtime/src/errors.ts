import { MercerError } from '@mercer/options';

/** One thing that was tried, and why it did not work. */
export interface Attempt {
  readonly path: string;
  readonly error: string;
}

/** Why an operation of this package failed. */
export type CpuErrorCode =
  | 'INVALID_ARGUMENT'
  | 'OUT_OF_RANGE'
  | 'DISPOSED'
  | 'CAPTURING'
  | 'OUT_OF_MEMORY'
  | 'LOAD_FAILED'
  | 'SYMBOL_NOT_FOUND'
  | 'FLOAT_CONTROL_CHANGED'
  | 'THREADS_UNAVAILABLE'
  | 'UNSUPPORTED_CPU'
  | 'TWO_COPIES'
  | 'ADDON_NOT_FOUND'
  | 'LIBRARY_NOT_FOUND'
  | 'COMPILER_NOT_FOUND'
  | 'COMPILE_FAILED'
  | 'COMPILER_BROKEN'
  | 'COMPILE_TIMEOUT'
  | 'INTERNAL';

/** Base of every error that this package throws; `code` says which kind it is. */
export class CpuRuntimeError extends MercerError {
  declare readonly code: CpuErrorCode;

  constructor(code: CpuErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = new.target.name;
  }
}

/** Host memory could not be had. `requested` and `live` (bytes of buffers alive) are bytes. */
export class OutOfMemoryError extends CpuRuntimeError {
  readonly requested: number;
  readonly live: number;

  constructor(requested: number, live: number, options?: ErrorOptions) {
    super(
      'OUT_OF_MEMORY',
      `allocating ${requested} bytes of host memory failed: the system has no such amount. ` +
        `Buffers alive hold ${live} bytes; dispose some, or work in smaller pieces.`,
      options,
    );
    this.requested = requested;
    this.live = live;
  }
}

/** The compiler refused a kernel, broke, or took too long. `log` is what it printed. */
export class CompileError extends CpuRuntimeError {
  readonly log: string;
  readonly source: string;

  constructor(
    code: 'COMPILE_FAILED' | 'COMPILER_BROKEN' | 'COMPILE_TIMEOUT',
    message: string,
    details: { readonly log: string; readonly source: string; readonly cause?: unknown },
  ) {
    super(code, message, details.cause === undefined ? {} : { cause: details.cause });
    this.log = details.log;
    this.source = details.source;
  }
}

/** No usable C++ compiler. `attempts` lists what was tried, `remedy` what to install. */
export class CompilerNotFoundError extends CpuRuntimeError {
  readonly attempts: readonly Attempt[];
  readonly remedy: string;

  constructor(attempts: readonly Attempt[], remedy: string) {
    super(
      'COMPILER_NOT_FOUND',
      `finding a C++ compiler failed: none of the candidates works.\n${formatAttempts(attempts)}\n${remedy}`,
    );
    this.attempts = attempts;
    this.remedy = remedy;
  }
}

/** No usable BLAS with LAPACK. `attempts` lists what was tried, `remedy` what to install. */
export class LapackNotFoundError extends CpuRuntimeError {
  readonly attempts: readonly Attempt[];
  readonly remedy: string;

  constructor(attempts: readonly Attempt[], remedy: string) {
    super(
      'LIBRARY_NOT_FOUND',
      `finding a BLAS with LAPACK failed: none of the candidates works.\n${formatAttempts(attempts)}\n${remedy}`,
    );
    this.attempts = attempts;
    this.remedy = remedy;
  }
}

/** The addon of a package could not be loaded. `attempts` lists every file tried, `remedies` what to do. */
export class AddonNotFoundError extends CpuRuntimeError {
  readonly attempts: readonly Attempt[];
  readonly remedies: readonly string[];

  constructor(owner: string, attempts: readonly Attempt[], remedies: readonly string[]) {
    const list = remedies.map((remedy, i) => `  ${i + 1}. ${remedy}`).join('\n');
    super(
      'ADDON_NOT_FOUND',
      `loading the native part of ${owner} failed: no file could be loaded.\n` +
        `${formatAttempts(attempts)}\nWhat to do:\n${list}`,
    );
    this.attempts = attempts;
    this.remedies = remedies;
  }
}

function formatAttempts(attempts: readonly Attempt[]): string {
  return attempts.map(({ path, error }) => `  - ${path}: ${error}`).join('\n');
}
