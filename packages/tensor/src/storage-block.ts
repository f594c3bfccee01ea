import { isCaptured } from './capture/refusals.js';
import { noteWriteSite } from './call-sites.js';
import { CallLine, placeInOrder, type OrderedMemory, type Turn } from './call-order.js';
import { MercerError } from './mercer-error.js';
import type { Device, Storage } from './device.js';
import type { StreamCore, StreamUse } from './stream-core.js';

/** The device as its storages see it. */
export interface StorageOwner extends Device {
  /** The storage's last owner is gone. */
  forget(storage: StorageBlock): void;
  /** A tensor was collected that nobody had disposed. */
  noteLeak(): void;
  /** Memory was given back because what held it last was collected. */
  noteLeakedBytes(bytes: number): void;
}

/** Memory as the runtime of a device gives it. */
export interface NativeMemory {
  /** First byte; device addresses fit in 53 bits. */
  readonly address: number;
  /** What a launch must keep alive. */
  readonly handle: object;
  /** Gives the memory back once every listed use is done. */
  free(uses: readonly StreamUse[]): void;
}

/** What will read a storage and is not launched yet. */
export interface UnlaunchedRead {
  /** Called before work on `stream` writes the storage. */
  keepFrom(stream: StreamCore): void;
  /** Launches those of calls with an earlier place; resolves when they are enqueued. */
  launchReaders(place: number): Promise<void>;
}

/** The one implementation of Storage. */
export class StorageBlock implements Storage, OrderedMemory {
  readonly device: StorageOwner;
  readonly bytes: number;
  readonly address: number;
  readonly purpose: string;
  /** @internal */
  readonly handle: object;
  /** Among the live ones of its device, -1 if it is none of them. @internal */
  place = -1;
  readonly #memory: NativeMemory;
  #references = 1;
  #writer: StreamUse;
  #readers: StreamUse[] = [];
  #writes = 0;
  #written = 0;
  #laterReads: Set<UnlaunchedRead> | undefined;
  #calls: CallLine | undefined;

  /** @internal Use `device.allocate`. */
  constructor(
    device: StorageOwner,
    memory: NativeMemory,
    bytes: number,
    purpose: string,
    allocatedOn: StreamUse,
  ) {
    this.device = device;
    this.bytes = bytes;
    this.address = memory.address;
    this.handle = memory.handle;
    this.purpose = purpose;
    this.#memory = memory;
    this.#writer = allocatedOn;
  }

  get disposed(): boolean {
    return this.#references === 0;
  }

  /** The stream that wrote last. @internal */
  get lastWrite(): StreamUse {
    return this.#writer;
  }

  /** How many writes were called. @internal */
  get writes(): number {
    return this.#writes;
  }

  /** The place among calls of the one that wrote it last, of those that are enqueued. @internal */
  get written(): number {
    return this.#written;
  }

  /** Something will read it. @internal */
  addLaterRead(read: UnlaunchedRead): void {
    (this.#laterReads ??= new Set()).add(read);
  }

  /** It has, or never will. @internal */
  deleteLaterRead(read: UnlaunchedRead): void {
    this.#laterReads?.delete(read);
  }

  /** Whether something will read it. @internal */
  get hasLaterReads(): boolean {
    return this.#laterReads !== undefined && this.#laterReads.size > 0;
  }

  /** The calls that read or write it and are not enqueued yet. @internal */
  get calls(): CallLine | undefined {
    return this.#calls;
  }

  /** Adds such a call. What a chain reads from now on is what it will have written. @internal */
  enterCall(turn: Turn, writes: boolean): void {
    if (writes) this.#countWrite();
    (this.#calls ??= new CallLine()).enter(turn, writes);
  }

  /** Launches what calls with an earlier place will read. Errors go to those who await the results. @internal */
  async launchLaterReads(place: number): Promise<void> {
    if (this.#laterReads === undefined) return;
    await Promise.all([...this.#laterReads].map((read) => read.launchReaders(place)));
  }

  /** Whether it has several owners. @internal */
  get isShared(): boolean {
    return this.#references > 1;
  }

  /** One more owner. @internal */
  retain(): this {
    this.assertAlive();
    this.#references++;
    return this;
  }

  dispose(): void {
    if (this.#references === 0) return;
    this.#references--;
    if (this.#references > 0) return;
    this.device.forget(this);
    this.#memory.free([this.#writer, ...this.#readers]);
    this.#readers = [];
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal */
  assertAlive(): void {
    if (this.#references === 0) {
      throw new MercerError(
        'DISPOSED',
        `storage (${this.purpose} on ${this.device.id}): its memory was given back. Use it before dispose().`,
      );
    }
  }

  /** Whether `stream` captures its work and the memory was there before, so that nothing happens to it now. @throws MercerError CAPTURED for memory of another capture */
  #isOutside(stream: StreamCore): boolean {
    if (stream.capture === undefined || stream.hasCaptured(this.#writer)) return false;
    this.assertComputed();
    return true;
  }

  /** @throws MercerError CAPTURED where it is only written in replays @internal */
  assertComputed(): void {
    if (this.isCaptured) throw isCaptured(`storage (${this.purpose} on ${this.device.id})`);
  }

  /** Whether it is memory of captured work, written in replays alone. @internal */
  get isCaptured(): boolean {
    return this.#writer.stream.hasCaptured(this.#writer);
  }

  /** Bytes that its device counts: memory of a capture is part of what that holds. @internal */
  get countedBytes(): number {
    return this.isCaptured ? 0 : this.bytes;
  }

  /** Makes `stream` wait for the last write on another stream. @internal */
  beforeRead(stream: StreamCore): void {
    if (this.#isOutside(stream)) {
      stream.capture?.touch(this, false);
      return;
    }
    if (this.#writer.stream !== stream) stream.waitFor(this.#writer);
  }

  /** Makes `stream` wait for the last write and all reads since on other streams; what will read it keeps a copy. @internal */
  beforeWrite(stream: StreamCore): void {
    if (this.#laterReads !== undefined) {
      for (const read of [...this.#laterReads]) read.keepFrom(stream);
    }
    if (this.#isOutside(stream)) {
      stream.capture?.touch(this, true);
      return;
    }
    if (this.#writer.stream !== stream) stream.waitFor(this.#writer);
    for (const reader of this.#readers) {
      if (reader.stream !== stream) stream.waitFor(reader);
    }
  }

  /** Notes that the newest work on `stream` reads. @internal */
  noteRead(stream: StreamCore): void {
    if (this.#isOutside(stream)) return;
    const use = stream.newest();
    for (let at = 0; at < this.#readers.length; at++) {
      if (this.#readers[at]?.stream !== stream) continue;
      this.#readers[at] = use;
      return;
    }
    this.#readers.push(use);
  }

  /** Notes that the newest work on `stream` writes; it ran after every read before, so those are settled. @internal */
  noteWrite(stream: StreamCore): void {
    const place = this.#calls?.firstWriter;
    // one that waited was counted when it was called
    if (place === undefined) this.#countWrite();
    this.#written = place ?? placeInOrder();
    if (this.#isOutside(stream)) return;
    this.#writer = stream.newest();
    if (this.#readers.length > 0) this.#readers = [];
  }

  #countWrite(): void {
    this.#writes++;
    noteWriteSite(this);
  }
}
