import { Itself } from './itself.js';

/** A promise whose value is there: to ask for it needs no turn. */
class There extends Itself {
  readonly #value: object;

  constructor(promise: Promise<object>, value: object) {
    super(promise);
    this.#value = value;
  }

  static of(promise: object): object | undefined {
    return #value in promise ? promise.#value : undefined;
  }
}

/** Notes what a promise that is resolved is of. */
export function noteThere(promise: Promise<object>, value: object): void {
  new There(promise, value);
}

/** What a promise is of, where that was noted. Asks nothing of the value, which may be anything. */
export const thereOf = (value: unknown): object | undefined =>
  typeof value === 'object' && value !== null ? There.of(value) : undefined;
