import { SharedWork } from './shared-work.js';

/** Runs one task per key at a time; calls that come meanwhile share it. */
export class SingleFlight<T> {
  readonly #running = new Map<string, SharedWork<T>>();

  run(
    key: string,
    task: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const running = this.#running.get(key);
    if (running?.abandoned === false) return running.join(signal);
    const started = new SharedWork<T>((abandoned) =>
      task(abandoned).finally(() => {
        // Success is kept elsewhere; a failure is not kept at all, so that the next call tries again.
        if (this.#running.get(key) === started) this.#running.delete(key);
      }),
    );
    this.#running.set(key, started);
    return started.join(signal);
  }

  /** Resolves when nothing is under way, whatever came of it. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled([...this.#running.values()].map(({ result }) => result));
    }
  }
}
