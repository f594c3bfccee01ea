import { setImmediate } from 'node:timers';
import { isSteps, type Steps } from '@mercer/formula';

/** How long a slice takes, beside the collections of garbage that fall into it; a step takes a fraction of a millisecond. */
const SLICE_MS = 4;

/**
 * The result of work in steps, with turns of the event loop between slices of them. What is done already is handed through.
 *
 * @throws what a step throws; the signal's reason
 */
export async function inSlices<T>(work: T | Steps<T>, signal?: AbortSignal): Promise<T> {
  if (!isSteps(work)) return work;
  for (;;) {
    signal?.throwIfAborted();
    const end = performance.now() + SLICE_MS;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
