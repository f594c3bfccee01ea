import { placeInOrder } from '../call-order.js';
import { MercerError } from '../mercer-error.js';
import { coreOf } from '../operations.js';
import type { StorageBlock, UnlaunchedRead } from '../storage-block.js';
import type { StreamCore } from '../stream-core.js';
import { laterReadOf, rememberLaterRead, Tensor } from '../tensor.js';
import { YoungOwners } from '../young-owners.js';

/** Whoever reads later: told to launch before what it reads is written. */
export interface LaterReader {
  /** Resolves when the read is enqueued, or can no longer be. */
  enqueued(): Promise<unknown>;
  /** Among calls: later writes wait for it. */
  readonly place: number;
  /** Whether it can be launched by whoever writes next. Else a write leaves it a copy. */
  readonly canLaunch: boolean;
  /** Whether it has yet to take what it reads: a write before that leaves it a copy. */
  readonly waits: boolean;
  /** Results that it computes in its own kernel. */
  readonly joined: readonly LaterReader[];
}

/**
 * A tensor that calls which are not launched yet will read, with the elements that it had when they were made. Its memory lives as
 * long as one of them waits. A write to it launches them first, or where the writer cannot wait, leaves them a copy.
 */
export class LaterRead implements UnlaunchedRead {
  readonly tensor: Tensor;
  readonly #storage: StorageBlock;
  readonly #version: number;
  /** Among calls: what they write with an earlier place is read. */
  readonly #place: number;
  /** The place of the call that had written the memory. */
  readonly #written: number;
  readonly #readers = new Set<ReadHold>();
  /** The elements as they were before a write. */
  #copy: StorageBlock | undefined;

  private constructor(tensor: Tensor, place: number, version: number) {
    this.tensor = tensor;
    this.#storage = tensor.storage;
    this.#place = place;
    this.#version = version;
    this.#written = this.#storage.written;
  }

  /** The one for a tensor as it is at the place of this call among others. @throws MercerError DISPOSED */
  static of(tensor: Tensor): LaterRead {
    const { calls, writes } = tensor.storage;
    const place = placeInOrder();
    const version = writes - (calls?.writersFrom(place + 1) ?? 0);
    const known = laterReadOf(tensor);
    if (known instanceof LaterRead && known.#version === version) return known;
    const made = new LaterRead(tensor, place, version);
    if (version === writes) rememberLaterRead(tensor, made);
    return made;
  }

  /** True while the tensor's memory is there and no later call writes it. @param place but those from this place on */
  isCurrentAt(place = Infinity): boolean {
    const { disposed, writes, calls } = this.#storage;
    return !disposed && this.#version === writes - (calls?.writersFrom(place) ?? 0);
  }

  /** True while its elements are: later calls that write may be waiting. */
  get #isThere(): boolean {
    const { disposed, written } = this.#storage;
    return !disposed && (written === this.#written || written <= this.#place);
  }

  /** @throws MercerError DISPOSED or MODIFIED where the elements are there no more @param by what reads it, for messages */
  assertReadable(by: { readonly label: string }): void {
    if (this.#copy !== undefined || this.#isThere) return;
    const { tensor } = this;
    const [code, done] = tensor.disposed
      ? (['DISPOSED', 'disposed'] as const)
      : (['MODIFIED', 'written'] as const);
    throw new MercerError(
      code,
      `${by.label}: it was computed as part of another result, and ${tensor.label}, which it reads, was ${done} since. Await it before that, to keep its values.`,
    );
  }

  /** Where the elements are. */
  get storage(): StorageBlock {
    return this.#copy ?? this.#storage;
  }

  /** One more call that will read it. */
  add(hold: ReadHold): void {
    if (this.#readers.size === 0) {
      this.#storage.retain();
      this.#storage.addLaterRead(this);
    }
    this.#readers.add(hold);
  }

  /** A call has read it, or never will. */
  delete(hold: ReadHold): void {
    if (!this.#readers.delete(hold) || this.#readers.size > 0) return;
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

  /** Launches those with an earlier place that are not part of another such; their errors go to those who await them. */
  async launchReaders(place: number): Promise<void> {
    const waiting = [...this.#readers]
      .flatMap(({ reader }) => reader ?? [])
      .filter((reader) => reader.place < place && reader.canLaunch);
    const parts = new Set(waiting.flatMap(({ joined }) => joined));
    const whole = waiting.filter((reader) => !parts.has(reader));
    await Promise.allSettled(whole.map((reader) => reader.enqueued()));
  }

  /** Copies the memory before work on `stream` writes it, for those that are still to read it. */
  keepFrom(stream: StreamCore): void {
    const { calls } = this.#storage;
    if (this.#copy !== undefined) return;
    // that is one whose elements are to be read
    if ((calls?.firstWriter ?? this.#place) < this.#place) return;
    if (![...this.#readers].some(({ reader }) => reader?.waits === true)) return;
    this.#keep(stream);
  }

  /** The same for a call with this place, where a later one writes now. */
  keepBefore(place: number, stream: StreamCore): void {
    if (this.#copy === undefined && this.#storage.calls?.isWrittenAfter(place) === true) {
      this.#keep(stream);
    }
  }

  #keep(stream: StreamCore): void {
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

const collected = new FinalizationRegistry<ReadHold>((hold) => {
  const held = hold.storages;
  hold.release();
  for (const { device, disposed, countedBytes } of held)
    if (disposed) device.noteLeakedBytes(countedBytes);
});

const young = new YoungOwners<ReadHold>((reader, hold) => {
  hold.watch(reader as LaterReader);
});

/** What one reader holds until it has read it, or was collected without. */
export class ReadHold {
  readonly #reads: LaterRead[];
  /** Strongly held while it is young. */
  #reader: LaterReader | WeakRef<LaterReader> | undefined;
  #holds = false;
  /** Its place among the young, if it is one of them. */
  young = -1;

  constructor(reads: readonly LaterRead[]) {
    this.#reads = [...reads];
  }

  get holds(): boolean {
    return this.#holds;
  }

  /** Who reads; undefined where it was collected, or has read. */
  get reader(): LaterReader | undefined {
    return this.#reader instanceof WeakRef ? this.#reader.deref() : this.#reader;
  }

  /** What is held, each once. */
  get storages(): readonly StorageBlock[] {
    return this.#holds ? [...new Set(this.#reads.map(({ storage }) => storage))] : [];
  }

  acquire(reader: LaterReader): void {
    if (this.#holds) return;
    this.#holds = true;
    this.#reader = reader;
    young.add(reader, this);
    for (const read of this.#reads) read.add(this);
  }

  /** From now on it ends where its reader is collected. */
  watch(reader: LaterReader): void {
    this.#reader = new WeakRef(reader);
    collected.register(reader, this, this);
  }

  /** What is to be read turned out to be this too. */
  add(read: LaterRead): void {
    this.#reads.push(read);
    if (this.#holds) read.add(this);
  }

  release(): void {
    if (!this.#holds) return;
    this.#holds = false;
    if (!young.delete(this)) collected.unregister(this);
    this.#reader = undefined;
    for (const read of this.#reads) read.delete(this);
  }
}
