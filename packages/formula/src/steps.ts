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

/** Items that are visited in one step: some tens of microseconds. */
const VISITS = 128;

/** Visits items in their order, in steps. */
export function* visitSteps<T>(
  items: Iterable<T>,
  visit: (item: T, place: number) => void,
): Steps<void> {
  let place = 0;
  for (const item of items) {
    visit(item, place);
    if (++place % VISITS === 0) yield;
  }
}

/** Whether a value is work in steps. */
export function isSteps<T>(value: T | Steps<T>): value is Steps<T> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value;
}
