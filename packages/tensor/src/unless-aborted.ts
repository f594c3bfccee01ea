import { SharedWork } from '@mercer/jit-cache';

/** What a promise gives, or the signal's reason as soon as that aborts; what the promise waits for goes on. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? promise : new SharedWork(() => promise).join(signal);
}
