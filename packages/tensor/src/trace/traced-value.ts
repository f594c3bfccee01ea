/** What traced values have in common, for code that knows no tensor. */
export abstract class TracedValue {
  readonly #isTraced = true;

  /** Asks nothing of the value, which may be anything. */
  static is(value: unknown): value is TracedValue {
    return typeof value === 'object' && value !== null && #isTraced in value && value.#isTraced;
  }
}

/** Promises of traced values. */
const promises = new WeakSet();

/** A promise that will give a traced value, marked so that operations on it know. */
export function promisesTraced<P extends object>(promise: P): P {
  promises.add(promise);
  return promise;
}

/** Whether a value is traced, or the promise of one that is. */
export const isTraced = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (TracedValue.is(value) || promises.has(value));
