import type { DeviceCore } from '../device-core.js';
import { pooledBytes } from '../host-pool.js';
import { StorageBlock } from '../storage-block.js';
import type { CapturedGraph, StreamCore } from '../stream-core.js';
import { MercerError } from '../mercer-error.js';
import { withAmbientStream } from './ambient-stream.js';
import { CaptureMemory } from './capture-memory.js';
import { WorkOrder } from './work-order.js';

/** Memory that captured work uses and that was there before: whether it writes it. */
export type Touched = ReadonlyMap<StorageBlock, boolean>;

/** Memory that waits to be taken again: so many of one size, or bytes where they are small. */
const MOST_SPARES = 8;
const SMALL_SPARES_BYTES = 2 ** 20;
/** Bytes of all, and the share of a device's memory that they are where that is more. */
const SPARE_BYTES = 2 ** 27;
const SPARE_SHARE = 1 / 128;

/** Work that was captured, with the memory that it computes in. */
export interface CapturedWork {
  readonly graph: CapturedGraph;
  /** Held until `dispose`. */
  readonly touched: Touched;
  /** Whether some of it is interpreted until its kernels are compiled. */
  readonly isProvisional: boolean;
  /** Bytes of the memory that it computes in. */
  readonly bytes: number;
  dispose(): void;
}

/**
 * Work of functions on a stream of its own: first as it is, then captured. What is allocated meanwhile is the capture's: memory that is given back is taken
 * again, since the work runs in its order, and nothing goes back to the device before `dispose`.
 */
export class Capture extends CaptureMemory {
  readonly waitsForCompiler: boolean;
  readonly #device: DeviceCore;
  readonly #stream: StreamCore;
  readonly #blocks: StorageBlock[] = [];
  readonly #free = new Map<number, StorageBlock[]>();
  readonly #touched = new Map<StorageBlock, boolean>();
  /** Stands for the memory of the arguments, which replays bring: any that was there before. */
  readonly #arguments = {};
  readonly #mostSpareBytes: number;
  #spareBytes = 0;
  #order: WorkOrder | undefined;

  /** @param waitsForCompiler false: calls take what there is at once, as outside of captures */
  constructor(device: DeviceCore, waitsForCompiler: boolean) {
    super();
    this.waitsForCompiler = waitsForCompiler;
    this.#device = device;
    this.#stream = device.createStream();
    this.#mostSpareBytes = Math.max(SPARE_BYTES, SPARE_SHARE * device.memory().totalBytes);
  }

  get stream(): StreamCore {
    return this.#stream;
  }

  /** Calls a function, whose work is done. */
  run<T>(work: () => T | PromiseLike<T>): Promise<T> {
    return withAmbientStream(this.#stream, work);
  }

  /** Calls a function, whose work is captured. Nothing is left of it where it fails. @throws what it throws */
  async record<T>(work: () => T | PromiseLike<T>): Promise<{ value: T; captured: CapturedWork }> {
    this.#stream.beginCapture(this);
    const line = this.#stream.captureLine;
    this.#order = line && new WorkOrder(line);
    let value: T;
    try {
      value = await this.run(work);
    } catch (error) {
      try {
        this.#stream.endCapture().dispose();
      } catch {
        // what failed first is the reason
      } finally {
        this.#release();
      }
      throw refused(error);
    }
    try {
      const graph = this.#stream.endCapture();
      const dispose = (): void => {
        graph.dispose();
        this.#release();
      };
      const { isProvisional } = this;
      const bytes = this.#blocks.reduce((sum, { countedBytes }) => sum + countedBytes, 0);
      const touched = this.#touched;
      return { value, captured: { graph, touched, isProvisional, bytes, dispose } };
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** Where nothing was captured. */
  dispose(): void {
    this.#stream.dispose();
    this.#release();
  }

  allocate(bytes: number, purpose: string, zeroed: boolean): StorageBlock {
    const size = pooledBytes(bytes);
    const block = this.#spare(size) ?? this.#another(size, purpose);
    const memory = {
      address: block.address,
      handle: block.handle,
      free: (): void => {
        const spares = this.#free.get(size);
        this.#spareBytes += size;
        if (spares === undefined) this.#free.set(size, [block]);
        else spares.push(block);
      },
    };
    const storage = new StorageBlock(this.#device, memory, bytes, purpose, this.#stream.newest());
    if (zeroed && bytes > 0) {
      const zeros = this.hold(bytes, 'zeros', true);
      this.#device.move(storage, 0, zeros, 0, bytes, this.#stream);
    }
    return storage;
  }

  /**
   * Memory that was given back. Work that takes it has to wait for what used it before. So where work may run side by side it is the one that was given
   * back first, and not before there are several.
   */
  #spare(size: number): StorageBlock | undefined {
    const spares = this.#free.get(size) ?? [];
    const isInLine = this.#order === undefined;
    const isFull = this.#spareBytes + size > this.#mostSpareBytes;
    const areMany =
      isFull || (spares.length >= MOST_SPARES && spares.length * size >= SMALL_SPARES_BYTES);
    if (!isInLine && !areMany) return undefined;
    return this.#taken(isInLine ? spares.pop() : spares.shift(), size);
  }

  #taken(spare: StorageBlock | undefined, size: number): StorageBlock | undefined {
    if (spare !== undefined) this.#spareBytes -= size;
    return spare;
  }

  /** Where there is no more memory, the work waits for what was given back. */
  #another(size: number, purpose: string): StorageBlock {
    try {
      return this.hold(size, purpose);
    } catch (error) {
      const spare = this.#taken(this.#free.get(size)?.shift(), size);
      if (spare === undefined) throw error;
      return spare;
    }
  }

  hold(bytes: number, purpose: string, zeroed = false): StorageBlock {
    const { ownStream } = this.#device;
    const block = this.#device.take(bytes, `${purpose}, prepared`, ownStream, zeroed);
    this.#blocks.push(block);
    return block;
  }

  touch(storage: StorageBlock, writes: boolean): void {
    const before = this.#touched.get(storage);
    if (before === undefined) storage.retain();
    this.#touched.set(storage, writes || before === true);
  }

  begin(reads: readonly StorageBlock[], writes: readonly StorageBlock[]): void {
    // behind the copies of arguments, which may lie in what it writes, or are what it gave in the repetition before
    this.#order?.begin([...reads.map(memoryOf), this.#arguments], writes.map(memoryOf));
  }

  beginWithArguments(writes: readonly StorageBlock[]): void {
    this.#order?.begin([], [...writes.map(memoryOf), this.#arguments]);
  }

  end(): void {
    this.#order?.end();
  }

  #release(): void {
    for (const one of [...this.#blocks, ...this.#touched.keys()]) one.dispose();
    this.#blocks.length = 0;
    this.#touched.clear();
    this.#free.clear();
  }
}

/** What storages in the same memory share: one after the other has what a capture took for the first. */
const memoryOf = ({ handle }: StorageBlock): object => handle;

/** What the runtimes refuse while they capture, in words of the caller. */
function refused(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'CAPTURING')) return error;
  return new MercerError(
    'UNSUPPORTED',
    `prepare: the function does what cannot be captured (${error.message}). Call it without prepare().`,
    { cause: error },
  );
}
