import { CacheError } from './errors.js';
import { keepingAlive, SharedWork, type Behind } from './shared-work.js';

/** Runs one task per key at a time; calls that come meanwhile share it. */
export class SingleFlight<T> {
  readonly #running = new Map<string, SharedWork<T>>();

  run(
    key: string,
    task: (signal: AbortSignal, behind: Behind | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
    behind: Behind | undefined,
  ): Promise<T> {
    const running = this.#running.get(key);
    if (running?.abandoned === false) return running.join(signal, behind);
    const started = new SharedWork<T>((abandoned, isBehind) =>
      task(abandoned, isBehind).finally(() => {
        // Success is kept elsewhere; a failure is not kept at all, so that the next call tries again.
        if (this.#running.get(key) === started) this.#running.delete(key);
      }),
    );
    this.#running.set(key, started);
    return started.join(signal, behind);
  }

  /** Ends what nobody waits for, and resolves when nothing is under way, whatever came of it. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      const running = [...this.#running.values()];
      for (const work of running) if (work.isBehind) work.abandon(closed());
      await keepingAlive(Promise.allSettled(running.map(({ result }) => result)));
    }
  }
}

const closed = (): CacheError =>
  new CacheError(
    'CACHE_CLOSED',
    'A compile that no call waits for was ended: the cache is closed.',
  );
