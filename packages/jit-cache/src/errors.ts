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
export class CacheError extends Error {
  override readonly name = 'CacheError';

  constructor(
    readonly code: CacheErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Several units of one batch failed. */
export class BatchError extends AggregateError {
  override readonly name = 'BatchError';
  readonly code = 'BATCH_FAILED';
}
