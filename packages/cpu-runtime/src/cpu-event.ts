import { rawBinding } from './addon.js';
import { Branded } from './brand.js';
import { CpuRuntimeError } from './errors.js';
import type { RawEvent } from './raw-binding.js';

/** A point in a stream: fires when everything enqueued before it is done. Made by `stream.record()`; fires once. */
export class CpuEvent extends Branded {
  #raw: RawEvent;

  /** @internal Use `stream.record()`. */
  constructor(raw: RawEvent) {
    super();
    this.#raw = raw;
  }

  /** @internal */
  get raw(): RawEvent {
    return this.#raw;
  }

  /** Has it fired? */
  query(): boolean {
    return rawBinding().queryEvent(this.#raw);
  }

  /** Resolves when the event has fired. */
  synchronize(): Promise<void> {
    return rawBinding().whenEvent(this.#raw);
  }

  /**
   * Milliseconds from `since` to this event, both fired, on the monotonic clock.
   *
   * @throws CpuRuntimeError `INVALID_ARGUMENT` while one of them has not fired
   */
  elapsedMs(since: CpuEvent): number {
    const raw = rawBinding();
    const end = raw.eventTime(this.#raw);
    const begin = raw.eventTime(since.raw);
    if (begin === undefined || end === undefined) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        'measuring between events failed: one of them has not fired. Await synchronize() of the later one first.',
      );
    }
    return end - begin;
  }

  /** Lets the handle go; streams that wait for it still do. */
  dispose(): void {
    rawBinding().disposeEvent(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
