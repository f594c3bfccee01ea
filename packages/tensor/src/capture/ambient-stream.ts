import { AsyncLocalStorage } from 'node:async_hooks';
import type { Stream } from '../device.js';

/** The stream of a function that is prepared. */
export interface AmbientStream extends Stream {
  /** Who captures its work; undefined in the first run. */
  readonly capture: { readonly waitsForCompiler: boolean; isProvisional: boolean } | undefined;
  /** Whether the function is only called to ask for its kernels: see `askAhead`. */
  readonly onlyAsks: boolean;
}

/** Whether what other programs call while a function is prepared stays out of it. */
export const isAmbientByContext: boolean = true;

const ambient = new AsyncLocalStorage<AmbientStream | undefined>();
/** Such an asynchronous context slows every promise of the thread: there is one only while this is not 0. */
let running = 0;

/** The stream of whatever is called inside a function that is prepared; undefined elsewhere. */
export function ambientStream(): AmbientStream | undefined {
  return running === 0 ? undefined : ambient.getStore();
}

/** Calls a function, and what it awaits, with a stream in the place of its device's default stream. */
export async function withAmbientStream<T>(
  stream: AmbientStream,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  running++;
  try {
    return await ambient.run(stream, async () => work());
  } finally {
    running--;
    if (running === 0) ambient.disable();
  }
}

/** Calls a function in the context in which a stream was the ambient one, or none was. */
export function inContextOf<T>(stream: AmbientStream | undefined, work: () => T): T {
  return ambientStream() === stream ? work() : ambient.run(stream, work);
}
