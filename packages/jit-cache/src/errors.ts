import { MercerError } from '@mercer/options';

/** What can go wrong with a call to the cache itself. Troubles of the store are warnings instead. */
export type CacheErrorCode =
  | 'INVALID_ARGUMENT'
  | 'INVALID_UNIT'
  | 'OPTION_UNSUPPORTED'
  | 'TARGET_UNSUPPORTED'
  | 'ARTIFACT_INVALID'
  | 'CACHE_CLOSED'
  | 'DRIVER_TOO_OLD';

/** Thrown for a wrong call or a compiler that broke its word; never for trouble with the store. */
export class CacheError extends MercerError {
  declare readonly code: CacheErrorCode;

  constructor(code: CacheErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'CacheError';
  }
}

/** Several units of one batch failed; `errors` has the error of each. */
export class BatchError extends MercerError {
  override readonly name = 'BatchError';
  declare readonly code: 'BATCH_FAILED';
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[], message: string) {
    super('BATCH_FAILED', message);
    this.errors = errors;
  }
}
