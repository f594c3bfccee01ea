import process from 'node:process';
import { MercerError } from './mercer-error.js';

/* Where calls were made that others suffer from, with MERCER_DEBUG=tensor. */

const disposals = new WeakMap<object, Error>();
const writes = new WeakMap<object, Error>();
const keepSites = (process.env['MERCER_DEBUG'] ?? '').split(',').includes('tensor');

/** Notes where a tensor was disposed. */
export function noteDisposal(tensor: { readonly label: string }): void {
  if (keepSites) disposals.set(tensor, here(`${tensor.label} was disposed here`));
}

/** Notes where a storage is written. */
export function noteWriteSite(storage: object): void {
  if (keepSites) writes.set(storage, here('it was written here'));
}

/** What a use of a disposed tensor throws. */
export function disposedError(tensor: { readonly label: string }): MercerError {
  return new MercerError(
    'DISPOSED',
    `${tensor.label} was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.`,
    causeOf(disposals.get(tensor)),
  );
}

/** What a use of former elements throws. @param message without a word on where the storage was written */
export function modifiedError(message: string, storage: object): MercerError {
  return new MercerError(
    'MODIFIED',
    `${message} MERCER_DEBUG=tensor records where it was written.`,
    causeOf(writes.get(storage)),
  );
}

/** An error that tells the caller's line, which is beyond the ten of an ordinary one. */
function here(message: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  try {
    return new Error(message);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const causeOf = (site: Error | undefined): ErrorOptions | undefined =>
  site === undefined ? undefined : { cause: site };
