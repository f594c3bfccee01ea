import type { BuiltinKernel, DeviceLimits, EmittedKernel, LaunchableKernel } from '@mercer/kernels';
import { runBatch } from '@mercer/jit-cache';
import { sweep } from './backstop.js';
import { ambientStream } from './capture/ambient-stream.js';
import { CaptureMemory } from './capture/capture-memory.js';
import { elsewhere } from './capture/refusals.js';
import type { CpuExecutor } from './cpu-executor.js';
import {
  ALLOCATE_OPTIONS,
  CREATE_STREAM_OPTIONS,
  LOAD_ALL_OPTIONS,
  LOAD_OPTIONS,
  SIGNAL_OPTION,
  type AllocateOptions,
  type CreateStreamOptions,
  type DeviceId,
  type DeviceMemory,
  type LoadAllOptions,
  type LoadedKernel,
  type LoadOptions,
  type SignalOption,
} from './device.js';
import type { CallLoadOptions, CompileOptions } from './executable.js';
import { checkDialect, KernelTable } from './kernel-table.js';
import { localHandle } from './local-handle.js';
import { outOfMemory } from './memory-table.js';
import { MercerError } from './mercer-error.js';
import type { NativeFunction } from './native-function.js';
import { readOptions } from './read-options.js';
import { StorageBlock, type NativeMemory, type StorageOwner } from './storage-block.js';
import { unlessAborted } from './unless-aborted.js';
import { streamFor, type StreamCore } from './stream-core.js';

/** Below this a collection is not worth its time. */
const DEFAULT_SWEEP_BYTES = 2 ** 28;

/** Kernels that a device remembers: with the garbage beside them a small part of the mappings that a process may have. */
const DEFAULT_KERNEL_LIMIT = 1024;

const HANDLE = localHandle('a device', 'Send device.id, and call device(id) there.');

/** Ordinary kernels take a second. */
const DEFAULT_COMPILE_TIMEOUT_MS = 30_000;

/** Thrown by `allocateNative` when the device has no such amount. @internal */
export class NativeOutOfMemory extends Error {}

/** What both kinds of device share: accounting, reclaiming, the table of loaded kernels. @internal */
export abstract class DeviceCore<S extends StreamCore = StreamCore> implements StorageOwner {
  private readonly handle = HANDLE;
  abstract readonly kind: 'cpu' | 'cuda';
  abstract readonly index: number;
  abstract readonly id: DeviceId;
  abstract readonly name: string;
  abstract readonly limits: DeviceLimits;
  memoryLimitBytes: number | undefined;
  kernelLimit = DEFAULT_KERNEL_LIMIT;
  compileTimeoutMs = DEFAULT_COMPILE_TIMEOUT_MS;
  readonly #live: StorageBlock[] = [];
  readonly #kernels = new KernelTable(this, {
    executors: (kernels) => this.executors(kernels),
    build: (kernel, options) => this.build(kernel, options),
    interpret: (kernel) => this.interpret(kernel),
    isCached: (kernel) => this.isCached(kernel),
    builtin: (kernel) => this.builtin(kernel),
  });
  #streams: WeakRef<S>[] = [];
  #defaultStream: S | undefined;
  #liveBytes = 0;
  #peakBytes = 0;
  #leaks = 0;
  #leakedBytes = 0;
  #sweepAtBytes = DEFAULT_SWEEP_BYTES;
  #streamCount = 0;

  protected abstract newStream(label: string, priority: number | undefined): S;
  /** @throws NativeOutOfMemory */
  protected abstract allocateNative(bytes: number, stream: S, zeroed: boolean): NativeMemory;
  /** Waits for pending frees and hands unused memory back to the system. */
  protected abstract trim(): void;
  protected abstract memoryInfo(): { freeBytes: number; totalBytes: number };
  /** Bytes that the device's pool keeps and nobody uses. */
  protected pooledBytes(): number {
    return 0;
  }
  /** What may run kernels. */
  abstract executors(kernels: readonly EmittedKernel[]): Promise<'either' | CpuExecutor>;
  /** Compiles and loads. */
  protected abstract build(kernel: EmittedKernel, options: CompileOptions): Promise<NativeFunction>;
  /** The same for the interpreter, which has it at once; nothing for what it cannot run. */
  protected abstract interpret(kernel: EmittedKernel): NativeFunction | undefined;
  /** Whether `build` would find the kernel compiled. */
  protected abstract isCached(kernel: EmittedKernel): Promise<boolean>;
  /** A function of the runtime's own. */
  protected abstract builtin(kernel: BuiltinKernel): NativeFunction;
  /** Bytes that are taken during a call: at most this many at a time, since they hold up the event loop. */
  abstract readonly takenAtOnce: number;
  /**
   * Host bytes into a storage. Up to `takenAtOnce` they are taken during the call. More of them are memory that stays as it is until
   * the promise resolves, whatever becomes of its ArrayBuffer; for arrays of callers there is `uploadArray`.
   */
  abstract upload(
    to: StorageBlock,
    byteOffset: number,
    source: ArrayBufferView,
    stream: S,
  ): Promise<void> | undefined;
  /**
   * Bytes of a storage into host memory; resolves when they are there. Nobody else can reach `target`, or its memory stays
   * whatever becomes of its ArrayBuffer.
   */
  abstract download(
    from: StorageBlock,
    byteOffset: number,
    target: ArrayBufferView,
    stream: S,
  ): Promise<void>;
  /** The bytes themselves where the host can reach them; the caller sees to the order of accesses. */
  abstract hostView(of: StorageBlock, byteOffset: number, bytes: number): Uint8Array | undefined;
  /** Bytes between storages of this device, or from another device of the same kind. */
  abstract move(
    to: StorageBlock,
    toOffset: number,
    from: StorageBlock,
    fromOffset: number,
    bytes: number,
    stream: S,
  ): void;
  /** Fills without a kernel where the device can; false where a kernel is needed. */
  abstract memset(
    to: StorageBlock,
    byteOffset: number,
    count: number,
    width: number,
    pattern: bigint,
    stream: S,
  ): boolean;

  /** Inside a function that is prepared that is the stream of its work. */
  get defaultStream(): S {
    const ambient = ambientStream();
    if (ambient === undefined) return this.ownStream;
    if (ambient.device !== this) throw elsewhere('defaultStream', ambient.device, this.id);
    return ambient as unknown as S;
  }

  /** The default stream, also inside a function that is prepared. */
  get ownStream(): S {
    this.#defaultStream ??= this.#addStream(this.newStream(`${this.id} default stream`, undefined));
    return this.#defaultStream;
  }

  createStream(options?: CreateStreamOptions): S {
    const { priority } = readOptions('createStream', options, CREATE_STREAM_OPTIONS);
    const label = `${this.id} stream ${++this.#streamCount}`;
    return this.#addStream(this.newStream(label, priority));
  }

  #addStream(stream: S): S {
    this.#streams = this.#streams.filter((ref) => ref.deref() !== undefined);
    this.#streams.push(new WeakRef(stream));
    return stream;
  }

  /** Its streams that are neither disposed nor collected, but those of its own. */
  protected streams(): S[] {
    const alive = this.#streams.map((ref) => ref.deref()).filter((s) => s !== undefined);
    return alive.filter((stream) => !stream.disposed && stream.capture === undefined);
  }

  async synchronize(options?: SignalOption): Promise<void> {
    const { signal } = readOptions('synchronize', options, SIGNAL_OPTION);
    signal?.throwIfAborted();
    const done = this.streams().map((stream) => stream.synchronize());
    await unlessAborted(Promise.all(done), signal);
  }

  memory(): DeviceMemory {
    return {
      device: this.id,
      liveBytes: this.#liveBytes,
      liveStorages: this.#live.length,
      peakBytes: this.#peakBytes,
      leaks: this.#leaks,
      leakedBytes: this.#leakedBytes,
      ...this.memoryInfo(),
    };
  }

  /** Bytes that can still be allocated: free on the device or kept by its pool, and below the limit where one is set. */
  availableBytes(): number {
    const { memoryLimitBytes = Infinity } = this;
    const { freeBytes, liveBytes } = this.memory();
    return Math.max(0, Math.min(freeBytes + this.pooledBytes(), memoryLimitBytes - liveBytes));
  }

  allocate(bytes: number, options?: AllocateOptions): StorageBlock {
    const given = readOptions('allocate', options, ALLOCATE_OPTIONS);
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `allocate: ${bytes} is not a number of bytes. Pass an integer from 0 to 2^53 - 1.`,
      );
    }
    const stream = streamFor(this, given.stream, 'allocate') as S;
    return this.take(bytes, given.purpose ?? 'memory', stream, given.zeroed === true);
  }

  /** The same for a number of bytes and a stream of this device that were checked. */
  take(bytes: number, purpose: string, stream: S, zeroed = false): StorageBlock {
    const { capture } = stream;
    if (capture instanceof CaptureMemory) return capture.allocate(bytes, purpose, zeroed);
    const memory = this.#reserve({ bytes, stream, purpose, zeroed });
    const storage = new StorageBlock(this, memory, bytes, purpose, stream.newest());
    storage.place = this.#live.push(storage) - 1;
    this.#liveBytes += bytes;
    if (this.#liveBytes > this.#peakBytes) this.#peakBytes = this.#liveBytes;
    return storage;
  }

  /** The storage's last owner is gone. */
  forget(storage: StorageBlock): void {
    const { place } = storage;
    if (place < 0) return;
    storage.place = -1;
    const last = this.#live.pop() as StorageBlock;
    if (last !== storage) {
      this.#live[place] = last;
      last.place = place;
    }
    this.#liveBytes -= storage.bytes;
  }

  /** The backstop freed a tensor that nobody disposed. */
  noteLeak(): void {
    this.#leaks++;
  }

  /** What held memory last was collected. */
  noteLeakedBytes(bytes: number): void {
    this.#leakedBytes += bytes;
  }

  async load(kernel: EmittedKernel, options?: LoadOptions): Promise<LoadedKernel> {
    return this.#kernels.get(kernel, readOptions('load', options, LOAD_OPTIONS));
  }

  /** Loads a kernel for a call that is made now. */
  loadForCall(kernel: LaunchableKernel, options: CallLoadOptions): Promise<LoadedKernel> {
    return this.#kernels.get(kernel, options);
  }

  /** The ways to kernels that are launched together. */
  get kernels(): KernelTable {
    return this.#kernels;
  }

  loadBuiltin(kernel: BuiltinKernel): LoadedKernel {
    return this.#kernels.builtin(kernel);
  }

  async loadAll(
    kernels: readonly EmittedKernel[],
    options?: LoadAllOptions,
  ): Promise<LoadedKernel[]> {
    const { debug, signal, onProgress } = readOptions('loadAll', options, LOAD_ALL_OPTIONS);
    for (const kernel of kernels) checkDialect(this, kernel);
    const onDone = (done: number): void => {
      onProgress?.({ done, total: kernels.length });
    };
    return runBatch(kernels, { signal, onDone }, (kernel) => this.load(kernel, { debug, signal }));
  }

  #reserve(request: Request<S>): NativeMemory {
    const { bytes, purpose } = request;
    if (this.#liveBytes + bytes > this.#sweepAtBytes) this.#sweep(bytes);
    const memory = this.#tryReserve(request);
    if (!(memory instanceof NativeOutOfMemory)) return memory;
    this.#sweep(bytes);
    this.trim();
    const again = this.#tryReserve(request);
    if (!(again instanceof NativeOutOfMemory)) return again;
    throw outOfMemory(this, this.#live, bytes, purpose, again);
  }

  #tryReserve({ bytes, stream, zeroed }: Request<S>): NativeMemory | NativeOutOfMemory {
    if (this.memoryLimitBytes !== undefined && this.#liveBytes + bytes > this.memoryLimitBytes) {
      return new NativeOutOfMemory(
        `the limit set for ${this.id} is ${this.memoryLimitBytes} bytes`,
      );
    }
    try {
      return this.allocateNative(bytes, stream, zeroed);
    } catch (error) {
      if (error instanceof NativeOutOfMemory) return error;
      throw error;
    }
  }

  /** Frees what is unreachable, and waits with the next time until twice of what is left is in use. */
  #sweep(bytes: number): void {
    sweep();
    this.#sweepAtBytes = Math.max(DEFAULT_SWEEP_BYTES, 2 * (this.#liveBytes + bytes));
  }
}

interface Request<S> {
  readonly bytes: number;
  readonly stream: S;
  readonly purpose: string;
  readonly zeroed: boolean;
}

/** True for every device that this package made. @internal */
export function isDeviceCore(value: unknown): value is DeviceCore {
  return value instanceof DeviceCore;
}
