import type { HostBuffer } from '@mercer/cpu-runtime';
import type { CudaStream, DeviceBuffer, DeviceRegion } from '@mercer/cuda-runtime';
import { assertNotPreparing } from '../capture/refusals.js';
import { CudaStreamCore } from '../cuda-device.js';
import type { MemoryArgument, Storage, Stream } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { activeProfiler } from '../profiler.js';
import { StorageBlock } from '../storage-block.js';
import { streamFor, type NativeEvent, type StreamCapture } from '../stream-core.js';

/** Memory that work touches: a tensor, a storage or typed memory of one. */
type Touched = MemoryArgument | Storage;

/** Work of a CUDA library on a stream, as the order of accesses sees it. */
export interface NativeWork {
  /** The operation, for messages. */
  readonly what: string;
  readonly reads?: readonly Touched[];
  readonly writes?: readonly Touched[];
  /**
   * It touches nothing else, no memory of a library's handle either, so that in a capture work on other memory may run beside it. Default: false.
   */
  readonly tellsMemory?: boolean;
  /**
   * Streams of the same GPU that share the work: they start after the stream's work so far, and it goes on after theirs. In a
   * capture there are none.
   */
  readonly beside?: readonly Stream[];
}

/** The runtime's streams that work is enqueued on. */
export interface NativeStreams {
  readonly stream: CudaStream;
  /** As many as `beside` of the work has; none in a capture. */
  readonly beside: readonly CudaStream[];
}

/**
 * The runtime's stream behind a stream of a GPU.
 *
 * @throws MercerError UNSUPPORTED for a stream of the CPU; INVALID_ARGUMENT, DISPOSED
 */
export function nativeStream(stream: Stream): CudaStream {
  return coreOf(stream, 'nativeStream').native;
}

/**
 * A tensor's or storage's memory as the runtime's library calls take it.
 *
 * @throws MercerError DISPOSED, UNSUPPORTED for memory of the CPU
 */
export function regionOf(memory: Touched): DeviceRegion {
  const storage = storageOf(memory);
  storage.assertAlive();
  if (storage.device.kind !== 'cuda') {
    throw new MercerError(
      'UNSUPPORTED',
      `regionOf: the memory lies on ${storage.device.id}, which CUDA libraries cannot reach. Move it with to('cuda').`,
    );
  }
  const byteOffset = 'byteOffset' in memory ? memory.byteOffset : 0;
  return { buffer: storage.handle as DeviceBuffer, byteOffset };
}

/** Memory of the CPU as copies to and from GPUs see it. */
export interface HostRegion {
  readonly arrayBuffer: ArrayBuffer;
  /** Of a tensor's first element, or of a storage's first byte. */
  readonly byteOffset: number;
}

/**
 * The bytes of a tensor or storage of the CPU. Nothing orders accesses to them: the caller waits for what is enqueued, and
 * keeps a handle of the memory.
 *
 * @throws MercerError DISPOSED, UNSUPPORTED for memory of a GPU
 */
export function hostRegionOf(memory: Touched): HostRegion {
  assertNotPreparing('hostRegionOf', 'uses memory of the host');
  const storage = storageOf(memory);
  storage.assertAlive();
  if (storage.device.kind !== 'cpu') {
    throw new MercerError(
      'UNSUPPORTED',
      `hostRegionOf: the memory lies on ${storage.device.id}, which the host cannot reach. Move it with to('cpu').`,
    );
  }
  const { arrayBuffer, byteOffset } = storage.handle as HostBuffer;
  const first = 'byteOffset' in memory ? memory.byteOffset : 0;
  return { arrayBuffer, byteOffset: byteOffset + first };
}

/**
 * Enqueues work of a CUDA library: waits on the device for what other streams do with the memory, calls `enqueue`, which only
 * enqueues, and notes the uses, so that memory disposed afterwards is returned in order. Can be captured in a graph.
 *
 * @throws MercerError DISPOSED, DEVICE_MISMATCH, INVALID_ARGUMENT, UNSUPPORTED; what `enqueue` throws
 */
export function enqueueNative(
  stream: Stream,
  work: NativeWork,
  enqueue: (streams: NativeStreams) => void,
): void {
  using turn = new NativeTurn(stream, work);
  enqueue(turn.streams);
}

/**
 * The same for work that waits inside the library on threads of its own: resolves when `run` does. What it touches must be
 * memory that nobody else uses until then.
 *
 * @throws like `enqueueNative`
 */
export async function runNative(
  stream: Stream,
  work: NativeWork,
  run: (streams: NativeStreams) => Promise<void>,
): Promise<void> {
  assertNotPreparing(work.what, 'waits inside a library');
  using turn = new NativeTurn(stream, work);
  await run(turn.streams);
}

/**
 * One piece of work of a CUDA library, for code that is neither of the functions above: it begins, and waits on the device for what other
 * streams do with the memory, when it is made, and has ended when it is disposed. What it touches must be memory that nobody else uses
 * until then, unless all is enqueued in between.
 */
export class NativeTurn implements Disposable {
  readonly streams: NativeStreams;
  readonly #core: CudaStreamCore;
  readonly #beside: readonly CudaStreamCore[];
  readonly #reads: readonly StorageBlock[];
  readonly #writes: readonly StorageBlock[];
  readonly #what: string;
  readonly #profiler = activeProfiler();
  readonly #begin: NativeEvent | undefined;
  readonly #capture: StreamCapture | undefined;

  /** @throws like `enqueueNative` */
  constructor(
    stream: Stream,
    { what, reads = [], writes = [], beside = [], tellsMemory = false }: NativeWork,
  ) {
    this.#what = what;
    this.#core = coreOf(stream, what);
    // Streams that a capture spreads to would need the same care; it takes the work in turn.
    this.#beside = this.#core.capturing ? [] : beside.map((other) => coreOf(other, what));
    this.#reads = reads.map(storageOf);
    this.#writes = writes.map(storageOf);
    for (const storage of [...this.#reads, ...this.#writes]) storage.assertAlive();
    for (const storage of this.#reads) storage.beforeRead(this.#core);
    for (const storage of this.#writes) storage.beforeWrite(this.#core);
    this.#core.admit();
    if (this.#core.capturing) {
      for (const { handle } of [...this.#reads, ...this.#writes]) {
        this.#core.native.keepForCapture(handle as DeviceBuffer);
      }
    }
    if (tellsMemory) this.#capture = this.#core.capture;
    this.#capture?.begin(this.#reads, this.#writes);
    if (!this.#core.capturing) this.#begin = this.#profiler?.begin(this.#core);
    for (const other of this.#beside) {
      other.admit();
      follow(other, this.#core);
    }
    this.streams = {
      stream: this.#core.native,
      beside: this.#beside.map(({ native }) => native),
    };
  }

  [Symbol.dispose](): void {
    this.#capture?.end();
    for (const other of this.#beside) {
      other.enqueued++;
      follow(this.#core, other);
    }
    this.#core.enqueued++;
    if (this.#begin !== undefined) {
      this.#profiler?.end(this.#core, this.#begin, { name: `${this.#what} (library)` }, {});
    }
    for (const storage of this.#reads) storage.noteRead(this.#core);
    for (const storage of this.#writes) storage.noteWrite(this.#core);
  }
}

/** With an event of its own: one recorded before a capture would not make the other stream part of it. */
function follow(later: CudaStreamCore, earlier: CudaStreamCore): void {
  if (later === earlier) return;
  const event = earlier.record();
  later.native.wait(event);
  event.dispose();
}

function coreOf(stream: Stream, what: string): CudaStreamCore {
  const core = streamFor(stream.device, stream, what);
  if (core instanceof CudaStreamCore) return core;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: ${core.label} is a stream of the CPU, and this is work of a CUDA library. Use a stream of a GPU.`,
  );
}

function storageOf(memory: Touched): StorageBlock {
  const storage: unknown = 'storage' in memory ? memory.storage : memory;
  if (storage instanceof StorageBlock) return storage;
  throw new MercerError(
    'INVALID_ARGUMENT',
    'native work: what it touches is neither a tensor nor a storage of this package. Pass tensors, or storages from device.allocate().',
  );
}
