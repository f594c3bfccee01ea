import { rawBinding } from './addon.js';
import { assertOwn, Branded } from './brand.js';
import { CpuEvent } from './cpu-event.js';
import { CpuRuntimeError } from './errors.js';
import { assertStable, HostBuffer, keepAliveOf, type HostBytes } from './host-buffer.js';
import type { RawBuffer, RawStream } from './raw-binding.js';

/**
 * A queue of work: launches, copies, events, in the order they were enqueued, one after the other. Different streams run
 * side by side on the one thread pool and share it evenly. Nothing here blocks the event loop.
 */
export class CpuStream extends Branded {
  #raw: RawStream;

  /** @internal Use `cpu.createStream()`. */
  constructor() {
    super();
    this.#raw = rawBinding().createStream();
  }

  /** @internal */
  get raw(): RawStream {
    return this.#raw;
  }

  /** Launches and copies enqueued and not yet done. */
  get inFlight(): number {
    return rawBinding().inFlight(this.#raw);
  }

  /** True when nothing is left to do. */
  query(): boolean {
    return rawBinding().queryStream(this.#raw);
  }

  /** An event that fires when everything enqueued so far is done. */
  record(): CpuEvent {
    return new CpuEvent(rawBinding().recordEvent(this.#raw));
  }

  /** Work enqueued after this call starts only when `event`, of any stream of this environment, has fired. */
  wait(event: CpuEvent): void {
    assertOwn(event, CpuEvent, 'waiting for an event');
    rawBinding().waitEvent(this.#raw, event.raw);
  }

  /**
   * Resolves when everything enqueued so far is done.
   *
   * Rejects with `OUT_OF_MEMORY` where a launch since the last such promise could not get its scratch memory.
   */
  whenDone(): Promise<void> {
    return rawBinding().whenDone(this.#raw);
  }

  /** The same as {@link whenDone}. */
  synchronize(): Promise<void> {
    return this.whenDone();
  }

  /**
   * Copies `bytes` bytes between host memories, in order with the stream's other work; offsets in bytes. Both sides are
   * kept until the copy is done; do not transfer their ArrayBuffers before that. They may overlap (as memmove).
   *
   * @throws CpuRuntimeError `OUT_OF_RANGE` beyond the end of either side, `DISPOSED` for a disposed buffer
   */
  enqueueCopy(
    target: HostBuffer | HostBytes,
    targetOffset: number,
    source: HostBuffer | HostBytes,
    sourceOffset: number,
    bytes: number,
  ): void {
    assertByteCount(targetOffset, 'targetOffset');
    assertByteCount(sourceOffset, 'sourceOffset');
    assertByteCount(bytes, 'bytes');
    rawBinding().copy(
      this.#raw,
      sideOf(target, 'target'),
      targetOffset,
      sideOf(source, 'source'),
      sourceOffset,
      bytes,
      ownersOf(target, source),
    );
  }

  /** Lets the handle go; work that is enqueued still runs. Using the stream afterwards throws `DISPOSED`. */
  dispose(): void {
    rawBinding().disposeStream(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function sideOf(side: HostBuffer | HostBytes, name: string): RawBuffer | HostBytes {
  if (side instanceof HostBuffer) return side.raw;
  if (!ArrayBuffer.isView(side) && !(side instanceof ArrayBuffer)) {
    assertOwn(side, HostBuffer, `copying (${name})`);
  }
  assertStable(side, `copying (${name})`);
  return side;
}

/** A view of a HostBuffer keeps the buffer itself too: dispose() would take the memory away under the copy. */
function ownersOf(...sides: readonly (HostBuffer | HostBytes)[]): object[] | undefined {
  const owners = sides.filter((side) => !(side instanceof HostBuffer)).map(keepAliveOf);
  return owners.length === 0 ? undefined : owners;
}

function assertByteCount(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `copying failed: ${name} is ${String(value)}. Pass a safe integer of at least 0.`,
    );
  }
}
