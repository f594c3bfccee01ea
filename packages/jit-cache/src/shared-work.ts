/**
 * Work that several callers wait for. Each may give a signal, which rejects that call alone; once no caller waits any more, the work's
 * own signal aborts, so that nothing is left running. A caller without a signal waits to the end.
 *
 * ```ts
 * import { SharedWork } from '@mercer/jit-cache';
 * const work = new SharedWork(async () => 42);
 * console.log(await work.join()); // 42
 * ```
 */
export class SharedWork<T> {
  readonly #controller = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;
  #settled = false;

  /** @param start the work, begun in a turn of its own; it should end soon after the signal that it is given aborts */
  constructor(start: (signal: AbortSignal) => Promise<T>) {
    const { signal } = this.#controller;
    this.#result = Promise.resolve()
      .then(() => start(signal))
      .finally(() => {
        this.#settled = true;
      });
    // Whoever waits sees the failure; it is no unhandled one where nobody does.
    this.#result.catch(() => undefined);
  }

  /** Whether every caller left before the work was done: its result is of no use to another. */
  get abandoned(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Whatever comes of it. */
  get result(): Promise<T> {
    return this.#result;
  }

  /** The result; rejects with the reason of `signal` when that aborts before. */
  join(signal?: AbortSignal): Promise<T> {
    if (signal === undefined) {
      this.#waiting++;
      return this.#result;
    }
    if (signal.aborted) return Promise.reject(reasonOf(signal));
    if (this.#settled) return this.#result;
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        reject(reasonOf(signal));
        if (--this.#waiting === 0 && !this.#settled) this.#controller.abort(signal.reason);
      };
      signal.addEventListener('abort', abort);
      const leave = (): void => {
        signal.removeEventListener('abort', abort);
      };
      this.#result.then(leave, leave);
      this.#result.then(resolve, reject);
    });
  }
}

const reasonOf = (signal: AbortSignal): Error => signal.reason as Error;
