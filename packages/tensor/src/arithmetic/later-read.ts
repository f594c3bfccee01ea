import { coreOf } from '../operations.js';
import type { StorageBlock, UnlaunchedRead } from '../storage-block.js';
import type { StreamCore } from '../stream-core.js';
import { Tensor } from '../tensor.js';

/** Whoever reads later: told to launch before what it reads is written. */
export interface LaterReader {
  /** Resolves when the read is enqueued, or can no longer be. */
  enqueued(): Promise<unknown>;
  /** True from the moment on from which its operands are borrowed, as those of every call. */
  readonly started: boolean;
}

const leaves = new WeakMap<Tensor, LaterRead>();

/**
 * A tensor that calls which are not launched yet will read, with the elements that it had when they were made. Its memory lives as
 * long as one of them waits. A write to it launches them first, or where the writer cannot wait, leaves them a copy.
 */
export class LaterRead implements UnlaunchedRead {
  readonly tensor: Tensor;
  readonly #storage: StorageBlock;
  readonly #version: number;
  readonly #readers = new Set<WeakRef<LaterReader>>();
  /** The elements as they were before a write. */
  #copy: StorageBlock | undefined;

  private constructor(tensor: Tensor) {
    this.tensor = tensor;
    this.#storage = tensor.storage;
    this.#version = this.#storage.writes;
  }

  /** The one for a tensor as it is now. @throws MercerError DISPOSED */
  static of(tensor: Tensor): LaterRead {
    tensor.assertAlive();
    const known = leaves.get(tensor);
    if (known?.isCurrent === true) return known;
    const made = new LaterRead(tensor);
    leaves.set(tensor, made);
    return made;
  }

  /** True while the tensor's memory is there and has not been written since. */
  get isCurrent(): boolean {
    return !this.#storage.disposed && this.#storage.writes === this.#version;
  }

  /** One more call that will read it. */
  add(reader: WeakRef<LaterReader>): void {
    if (this.#readers.size === 0) {
      this.#storage.retain();
      this.#storage.addLaterRead(this);
    }
    this.#readers.add(reader);
  }

  /** A call has read it, or never will. */
  delete(reader: WeakRef<LaterReader>): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#storage.deleteLaterRead(this);
    (this.#copy ?? this.#storage).dispose();
    this.#copy = undefined;
  }

  /** The tensor, or another handle where it was disposed or written, for the caller to dispose. */
  bound(): Tensor {
    const { tensor } = this;
    if (this.#copy === undefined && !tensor.disposed) return tensor;
    return new Tensor((this.#copy ?? this.#storage).retain(), tensor.dtype, tensor);
  }

  /** Launches those that wait; their errors go to those who await them. */
  async launchReaders(): Promise<void> {
    const waiting = [...this.#readers].flatMap((reader) => reader.deref() ?? []);
    await Promise.allSettled(waiting.map((reader) => reader.enqueued()));
  }

  /** Copies the memory before work on `stream` writes it, for those that have not started. */
  keepFrom(stream: StreamCore): void {
    if (this.#copy !== undefined) return;
    if (![...this.#readers].some((reader) => reader.deref()?.started === false)) return;
    const from = this.#storage;
    const device = coreOf(from.device);
    const { bytes, purpose } = from;
    const copy = device.allocate(bytes, { stream, purpose: `${purpose}, before a write` });
    if (bytes > 0) {
      from.beforeRead(stream);
      device.move(copy, 0, from, 0, bytes, stream);
      from.noteRead(stream);
      copy.noteWrite(stream);
    }
    this.#copy = copy;
    from.deleteLaterRead(this);
    from.dispose();
  }
}
