/** Why a place cannot hold the store. */
export type FaultCode =
  | 'NO_DRIVER'
  | 'NO_HOME'
  | 'UNSAFE_DIRECTORY'
  | 'UNWRITABLE'
  | 'NETWORK_FILE_SYSTEM'
  | 'NO_WAL'
  | 'FOREIGN_DATABASE'
  | 'LOCKED'
  | 'FULL'
  | 'MISSING'
  | 'BROKEN'
  /** The thread is being ended: nobody is left to be told. */
  | 'ENDED'
  | 'UNAVAILABLE'
  | 'INVALID_SETTING';

/** Trouble with the store, kept inside the package: the cache turns it into one warning. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';

  constructor(
    readonly code: FaultCode,
    /** Why, without a full stop. */
    message: string,
    /** What to do about it, a sentence; the usual advice where left out. */
    readonly fix?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
