import type { Device } from '../device.js';

/** What steps on one device do; `S` is a step, `I` its inputs. */
export interface StepsWork<S, I> {
  readonly device: Device;
  readonly signal: AbortSignal;
  /** Brings the inputs of a step; each call needs a `release`. */
  readonly take: (step: S) => Promise<I>;
  readonly release: (step: S) => Promise<void>;
  /** Enqueues a step on the device's default stream. */
  readonly compute: (step: S, inputs: I) => Promise<void>;
  /** A step is computed. */
  readonly onDone: () => Promise<void>;
}

/**
 * Computes steps on one device, one after the other. The inputs of a step arrive while the one before is computed; those of the step before
 * that are given up first, so that no more than two are there.
 */
export async function runSteps<S, I>(steps: readonly S[], work: StepsWork<S, I>): Promise<void> {
  const [first] = steps;
  if (first === undefined) return;
  const { device, signal, compute, onDone } = work;
  const taken = new Set<S>();
  const take = (step: S): Promise<I> => {
    taken.add(step);
    const arriving = work.take(step);
    // It is awaited below, or given up with an error that came before.
    arriving.catch(() => undefined);
    return arriving;
  };
  const release = async (step: S): Promise<void> => {
    taken.delete(step);
    await work.release(step);
  };
  let before: { readonly step: S; readonly done: Promise<void> } | undefined;
  let arriving = take(first);
  const finish = async ({ step, done }: NonNullable<typeof before>): Promise<void> => {
    await done;
    await release(step);
    await onDone();
  };
  try {
    for (const [at, step] of steps.entries()) {
      signal.throwIfAborted();
      await compute(step, await arriving);
      const done = device.defaultStream.synchronize({ signal });
      done.catch(() => undefined);
      if (before !== undefined) await finish(before);
      before = { step, done };
      const next = steps[at + 1];
      if (next !== undefined) arriving = take(next);
    }
    if (before !== undefined) await finish(before);
  } finally {
    await Promise.allSettled([arriving]);
    for (const step of taken) await release(step);
  }
}
