import { setImmediate } from 'node:timers';
import { isSteps, type Steps } from '@mercer/formula/plan';

/** How long a slice takes, beside the collections of garbage that fall into it; a step takes a fraction of a millisecond. */
const SLICE_MS = 4;

/**
 * The result of work in steps, with turns of the event loop between slices of them. What is done already is handed through.
 *
 * @throws what a step throws; the signal's reason
 */
export async function inSlices<T>(work: T | Steps<T>, signal?: AbortSignal): Promise<T> {
  return inSlicesOrNow(work, signal);
}

/** The same; the result itself where the first slice is all. @throws at once what the first slice throws */
export function inSlicesOrNow<T>(work: T | Steps<T>, signal?: AbortSignal): T | Promise<T> {
  if (!isSteps(work)) return work;
  const done = slice(work, signal);
  return done === undefined ? otherSlices(work, signal) : done.value;
}

async function otherSlices<T>(work: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const done = slice(work, signal);
    if (done !== undefined) return done.value;
  }
}

/** The result in an object, once the work is done. */
function slice<T>(
  work: Steps<T>,
  signal: AbortSignal | undefined,
): IteratorReturnResult<T> | undefined {
  signal?.throwIfAborted();
  const end = performance.now() + SLICE_MS;
  do {
    const next = work.next();
    if (next.done === true) return next;
  } while (performance.now() < end);
  return undefined;
}
