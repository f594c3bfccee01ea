import { onAbort } from '@mercer/options';

/** Says whether nobody waits for work at present: it is done ahead of the calls that will want it. */
export type Behind = () => boolean;

/**
 * Work that several callers wait for. Each may give a signal, which rejects that call alone; once no caller waits any more, the work's
 * own signal aborts, so that nothing is left running. A caller without a signal waits to the end.
 *
 * Work that is done behind, which its first callers say with a function, keeps no process alive and lets other work go first, while
 * that function is true for all callers. Whoever joins without one waits for it, and keeps the process alive meanwhile.
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
  readonly #behind = new Set<Behind>();
  #waiting = 0;
  /** Callers that did not say `behind`. */
  #urgent = 0;
  #keepsAlive = true;
  #state: 'pending' | 'done' | 'failed' = 'pending';

  /**
   * @param start the work, begun in a turn of its own; it should end soon after the signal that it is given aborts. `behind` is
   *   undefined where a caller waits from the beginning.
   */
  constructor(start: (signal: AbortSignal, behind: Behind | undefined) => Promise<T>) {
    const { signal } = this.#controller;
    this.#result = Promise.resolve().then(() => {
      this.#keepsAlive = !this.#saysBehind;
      return start(signal, this.#keepsAlive ? undefined : () => this.isBehind);
    });
    // Whoever waits sees the failure; it is no unhandled one where nobody does.
    this.#result.then(
      () => (this.#state = 'done'),
      () => (this.#state = 'failed'),
    );
  }

  get #saysBehind(): boolean {
    return this.#behind.size > 0 && this.#urgent === 0;
  }

  /** Whether it is done, and came to something. */
  get state(): 'pending' | 'done' | 'failed' {
    return this.#state;
  }

  /** Whether all callers say that nobody waits. */
  get isBehind(): boolean {
    return this.#saysBehind && [...this.#behind].every((behind) => behind());
  }

  /** Whether every caller left before the work was done: its result is of no use to another. */
  get abandoned(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Whatever comes of it. */
  get result(): Promise<T> {
    return this.#result;
  }

  /** Ends the work for everybody. */
  abandon(reason: Error): void {
    if (this.#state === 'pending') this.#controller.abort(reason);
  }

  /** The result; rejects with the reason of `signal` when that aborts before. */
  join(signal?: AbortSignal, behind?: Behind): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(reasonOf(signal));
    if (this.#state !== 'pending') return this.#result;
    if (behind !== undefined) this.#behind.add(behind);
    else {
      if (!this.#keepsAlive) void keepingAlive(this.#result, signal);
      this.#urgent++;
    }
    this.#waiting++;
    if (signal === undefined) return this.#result;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        // the work may never settle
        leave();
        reject(reasonOf(signal));
        if (behind === undefined) this.#urgent--;
        else this.#behind.delete(behind);
        if (--this.#waiting === 0 && this.#state === 'pending')
          this.#controller.abort(signal.reason);
      };
      const leave = onAbort(signal, abort);
      this.#result.then(leave, leave);
      this.#result.then(resolve, reject);
    });
  }
}

const reasonOf = (signal: AbortSignal): Error => signal.reason as Error;

/** The longest time of a timer. */
const FOREVER_MS = 2 ** 31 - 1;

/** Keeps the process alive until work is settled, or the signal aborts: the work itself may be of those that do not. */
export async function keepingAlive(work: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const timer = setInterval(() => undefined, FOREVER_MS);
  const end = (): void => {
    clearInterval(timer);
    leave?.();
  };
  const leave = signal && onAbort(signal, end);
  await work.then(end, end);
}
