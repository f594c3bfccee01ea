import { setImmediate } from 'node:timers/promises';
import type { Watch } from './watch.js';

/** How long the main thread computes before timers and others have their turn. */
const SLICE_MS = 8;

/** Lets the event loop have its turn between the steps of a long computation, as often as is needed and no more. */
export class Slices {
  private start = performance.now();

  /** Call between steps of a millisecond or so. */
  async pause(): Promise<void> {
    if (performance.now() - this.start < SLICE_MS) return;
    await setImmediate();
    this.start = performance.now();
  }
}

/** As `inSlices` of the package, without loading formulas, which files do not need. @throws the signal's reason */
export async function runInSlices<T>(steps: Iterator<void, T>, watch: Watch): Promise<T> {
  const slices = new Slices();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await slices.pause();
    watch.check();
  }
}

/** Runs steps to their end at once. */
export function runThrough<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
