/**
 * Work in steps: a generator that yields wherever it may be interrupted. {@link finish} does it at once; whoever has to answer others
 * meanwhile takes some steps at a time.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All steps, one after the other. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Whether a value is work in steps. */
export function isSteps<T>(value: T | Steps<T>): value is Steps<T> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value;
}
