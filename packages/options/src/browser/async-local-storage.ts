/**
 * Of `node:async_hooks`. Browsers have no context that follows promises: a store is there until the function that `run` calls awaits or returns.
 * Whoever needs more has a twin of its own.
 */
export class AsyncLocalStorage<T> {
  #store: T | undefined;

  getStore(): T | undefined {
    return this.#store;
  }

  run<R>(store: T, work: () => R): R {
    const before = this.#store;
    this.#store = store;
    try {
      return work();
    } finally {
      this.#store = before;
    }
  }
}
