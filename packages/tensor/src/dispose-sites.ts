import { MercerError } from './mercer-error.js';

const sites = new WeakMap<object, Error>();
const keepSites = (process.env['MERCER_DEBUG'] ?? '').split(',').includes('tensor');

/** Notes where a tensor was disposed, with MERCER_DEBUG=tensor. */
export function noteDisposal(tensor: { readonly label: string }): void {
  if (keepSites) sites.set(tensor, new Error(`${tensor.label} was disposed here`));
}

/** What a use of a disposed tensor throws. */
export function disposedError(tensor: { readonly label: string }): MercerError {
  const cause = sites.get(tensor);
  return new MercerError(
    'DISPOSED',
    `${tensor.label} was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.`,
    cause === undefined ? undefined : { cause },
  );
}
