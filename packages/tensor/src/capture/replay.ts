import { inTurn } from '../call-order.js';
import { bytesOf } from '../checked-size.js';
import type { DeviceCore } from '../device-core.js';
import { coreOf, purposeOf } from '../operations.js';
import type { StorageBlock } from '../storage-block.js';
import type { StreamCore } from '../stream-core.js';
import type { TensorForm } from '../tensor-form.js';
import { Tensor } from '../tensor.js';
import type { CapturedWork } from './capture.js';
import { assertNotPreparing } from './refusals.js';

/** A result of captured work: where its elements are, row-major, and what a copy of them is. */
export interface Result {
  readonly storage: StorageBlock;
  readonly byteOffset: number;
  readonly form: TensorForm;
}

/** Captured work that is done again with other arguments, which are copied in, as its results are copied out. */
export class Replay {
  readonly #device: DeviceCore;
  readonly #work: CapturedWork;
  readonly #inputs: readonly Tensor[];
  readonly #results: readonly Result[];
  #pending = 0;
  #disposed = false;

  /** @param inputs what the work reads in the place of its arguments; it takes them over */
  constructor(
    device: DeviceCore,
    work: CapturedWork,
    inputs: readonly Tensor[],
    results: readonly Result[],
  ) {
    this.#device = device;
    this.#work = work;
    this.#inputs = inputs;
    this.#results = results;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Enqueues the work and gives its results. @param args like the inputs @throws MercerError DISPOSED, CAPTURED, OUT_OF_MEMORY */
  call(args: readonly Tensor[]): Tensor[] {
    assertNotPreparing('a prepared function', 'is replayed');
    for (const one of args) one.assertAlive();
    const queue = this.#device.ownStream;
    const results = this.#make(queue);
    if (!this.#isBehindOthers(args)) {
      try {
        this.#enqueue(args, results, queue);
      } catch (error) {
        for (const one of results) one.dispose();
        throw error;
      }
      return results;
    }
    this.#pending++;
    // handles of its own: the caller may dispose the tensors meanwhile
    const held = [args, results].map((all) => all.map((one) => one.view()));
    const { touched } = this.#work;
    const written = [...touched.keys()].filter((one) => touched.get(one));
    const [given = [], made = []] = held;
    const storages = [given, made].map((all) => all.map(({ storage }) => storage));
    const [reads = [], writes = []] = storages;
    const enqueue = async (): Promise<void> => {
      await Promise.resolve();
      this.#enqueue(given, made, queue);
    };
    void inTurn([...reads, ...touched.keys()], [...writes, ...written], undefined, enqueue).finally(
      () => {
        for (const one of held.flat()) one.dispose();
        this.#pending--;
        if (this.#disposed) this.#release();
      },
    );
    return results;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#release();
  }

  #release(): void {
    if (this.#pending > 0) return;
    this.#work.dispose();
    for (const one of this.#inputs) one.dispose();
  }

  #make(queue: StreamCore): Tensor[] {
    const made: Tensor[] = [];
    try {
      for (const { form } of this.#results) {
        const bytes = bytesOf(form.size, form.dtype);
        const memory = this.#device.take(bytes, purposeOf(form.shape, form.dtype), queue);
        made.push(new Tensor(memory, form.dtype, form));
      }
      return made;
    } catch (error) {
      for (const one of made) one.dispose();
      throw error;
    }
  }

  #isBehindOthers(args: readonly Tensor[]): boolean {
    for (const { storage } of args) if (storage.calls?.hasWriters === true) return true;
    for (const [storage, writes] of this.#work.touched) {
      const { calls, hasLaterReads } = storage;
      if (writes ? calls?.isEmpty === false || hasLaterReads : calls?.hasWriters === true)
        return true;
    }
    return false;
  }

  #enqueue(args: readonly Tensor[], results: readonly Tensor[], queue: StreamCore): void {
    const { graph, touched } = this.#work;
    for (const [at, to] of this.#inputs.entries()) copyBytes(to, args[at] as Tensor, queue);
    for (const [storage, writes] of touched) {
      if (writes) storage.beforeWrite(queue);
      else storage.beforeRead(queue);
    }
    queue.admit();
    graph.launch(queue);
    queue.enqueued++;
    for (const [storage, writes] of touched) {
      if (writes) storage.noteWrite(queue);
    }
    for (const [at, { storage, byteOffset, form }] of this.#results.entries()) {
      const to = (results[at] as Tensor).storage;
      const bytes = bytesOf(form.size, form.dtype);
      if (bytes > 0) this.#device.move(to, 0, storage, byteOffset, bytes, queue);
      to.noteWrite(queue);
    }
    for (const [storage, writes] of touched) if (!writes) storage.noteRead(queue);
  }
}

/** The bytes of a tensor into another that lies like it, without gaps. */
export function copyBytes(to: Tensor, from: Tensor, stream: StreamCore): void {
  const bytes = bytesOf(to.size, to.dtype);
  if (bytes === 0) return;
  from.storage.beforeRead(stream);
  to.storage.beforeWrite(stream);
  coreOf(to.device).move(to.storage, to.byteOffset, from.storage, from.byteOffset, bytes, stream);
  from.storage.noteRead(stream);
  to.storage.noteWrite(stream);
}
