import type { AmbientStream } from '../capture/ambient-stream.js';

/**
 * In the place of capture/ambient-stream.ts. Browsers have no context that follows promises, so the stream is ambient for the whole program while a
 * function is prepared: what others call meanwhile is captured, or refused, as if that function had called it.
 */
let ambient: AmbientStream | undefined;

export const isAmbientByContext: boolean = false;

export const ambientStream = (): AmbientStream | undefined => ambient;

export async function withAmbientStream<T>(
  stream: AmbientStream,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  const before = ambient;
  ambient = stream;
  try {
    return await work();
  } finally {
    ambient = before;
  }
}

/** The context is there until `work` returns, or awaits. */
export function inContextOf<T>(stream: AmbientStream | undefined, work: () => T): T {
  const before = ambient;
  ambient = stream;
  try {
    return work();
  } finally {
    ambient = before;
  }
}
