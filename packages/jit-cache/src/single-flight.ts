/** Runs one task per key at a time; calls that come meanwhile get the same promise. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, task: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running) return running;
    const started = task().finally(() => {
      // Success is kept elsewhere; a failure is not kept at all, so that the next call tries again.
      this.#running.delete(key);
    });
    this.#running.set(key, started);
    return started;
  }

  /** Resolves when nothing is under way, whatever came of it. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values());
  }
}
