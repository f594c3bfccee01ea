import type { OptionNames } from '@mercer/options';
import type { WatchOptions } from '../device.js';

export type { WatchOptions };

/** Names of {@link WatchOptions}; progress of files counts bytes of elements. */
export const WATCH_OPTIONS: OptionNames<WatchOptions> = { signal: true, onProgress: true };

/** How far a file is read or written, told to whoever looks on. */
export class Watch {
  readonly #options: WatchOptions;
  #done = 0;
  #thrown: unknown;
  /** Bytes of elements, known before the first of them is counted. */
  total = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** @throws the signal's reason */
  check(): void {
    this.#options.signal?.throwIfAborted();
  }

  /** Counts bytes. @throws the signal's reason, and what `onProgress` throws */
  advance(bytes: number): void {
    this.#done += bytes;
    try {
      this.#options.onProgress?.({ done: this.#done, total: this.total });
    } catch (error) {
      this.#thrown = error;
      throw error;
    }
    this.check();
  }

  /** Whether an error comes from whoever looks on, and is to be handed on as it is. */
  owns(error: unknown): boolean {
    const { signal } = this.#options;
    if (signal?.aborted === true && error === signal.reason) return true;
    return error !== undefined && error === this.#thrown;
  }
}
