import { types } from 'node:util';
import { Itself } from '../itself.js';
import { thereOf } from '../there.js';

/** What traced values have in common, for code that knows no tensor. */
export abstract class TracedValue {
  readonly #isTraced = true;

  abstract readonly disposed: boolean;

  /** Another handle for the same value, disposed by itself. */
  abstract twin(): TracedValue;

  /** Asks nothing of the value, which may be anything. */
  static is(value: unknown): value is TracedValue {
    return typeof value === 'object' && value !== null && #isTraced in value && value.#isTraced;
  }
}

/** A handle that a call keeps of a traced value, which its caller may dispose behind the call; all else as it is. */
export const handleOf = <T>(value: T): T =>
  TracedValue.is(value) && !value.disposed ? (value.twin() as T) : value;

/** Promises of traced values. */
class PromisesTraced extends Itself {
  readonly #isTraced = true;

  static is(value: object): boolean {
    return #isTraced in value && value.#isTraced;
  }
}

/**
 * A promise that will give a traced value, marked so that operations on it know. Whoever uses it hears of its errors; where nobody does, the value of the function
 * that is differentiated does not depend on it, and it may fail only because the trace has ended.
 */
export function promisesTraced<P extends object>(promise: P): P {
  if (PromisesTraced.is(promise)) return promise;
  new PromisesTraced(promise);
  // what is not launched is none: to ask it would launch it
  if (types.isPromise(promise) && thereOf(promise) === undefined) promise.catch(() => undefined);
  return promise;
}

/** Whether a value is traced, or the promise of one that is. */
export const isTraced = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (TracedValue.is(value) || PromisesTraced.is(value));
