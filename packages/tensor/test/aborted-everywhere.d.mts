/**
 * Makes a call again and again, aborted at its first look at the signal, at its second and so on, until it looks no more. Every time it
 * must reject with the reason and leave no more bytes than there were.
 *
 * @returns the last look at which it was aborted
 */
export function abortedEverywhere(
  call: (signal: AbortSignal) => Promise<unknown>,
  undisposed: () => number,
): Promise<number>;

/** Disposes every tensor and prepared call in a result. */
export function disposeAll(value: unknown): void;
