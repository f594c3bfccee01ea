import type { Device } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { ambientStream } from './ambient-stream.js';

/** That a value was asked for where there is none. */
export const isCaptured = (what: string): MercerError =>
  new MercerError(
    'CAPTURED',
    `${what}: the tensor was made inside a function while prepare() captured it: its values are there in replays only. Return it from the function, and read what the prepared function gives.`,
  );

/**
 * That host code cannot be replayed. Nothing outside a function that is prepared.
 *
 * @throws MercerError CAPTURED
 */
export function assertNotPreparing(what: string, does = 'reads values'): void {
  if (ambientStream() === undefined) return;
  throw new MercerError(
    'CAPTURED',
    `${what} ${does} inside a function that prepare() captures, and a replay would do what was done for the example. Compute with tensors, as where() does instead of a branch, return what is to be read, or call the function without prepare().`,
  );
}

/** Whether work that is called now is captured, to be done in replays alone: in the second of the calls by which a function is prepared. */
export const isOnlyCaptured = (): boolean => ambientStream()?.capture !== undefined;

/** Whether kernels of work that is called now are only asked for: what is loaded for it is not there, and is not to be remembered. */
export const isOnlyAsked = (): boolean => ambientStream()?.onlyAsks === true;

/** Whether a function that is prepared calls. */
export const isPreparing = (): boolean => ambientStream() !== undefined;

/** That a captured function computes elsewhere. */
export const elsewhere = (what: string, device: Device, place: string): MercerError =>
  new MercerError(
    'UNSUPPORTED',
    `${what}: inside a function that prepare() captures all work is on one stream of ${device.id}, and this is on ${place}. Leave out the stream, move tensors to ${device.id} before, or call the function without prepare().`,
  );
