import process from 'node:process';
import {
  cuda,
  nvrtc,
  OutOfMemoryError,
  type CudaDevice as NativeDevice,
  type CudaEvent,
  type CudaGraphExec,
  type CudaStream,
  type DeviceBuffer,
} from '@mercer/cuda-runtime';
import { cudaTarget, nvrtcToolchain } from '@mercer/jit-cache';
import {
  packParams,
  type BuiltinKernel,
  type CudaGeometry,
  type CudaLimits,
  type EmittedKernel,
} from '@mercer/kernels';
import { CaptureMemory } from './capture/capture-memory.js';
import type { CaptureLine } from './capture/work-order.js';
import { DeviceCore, NativeOutOfMemory } from './device-core.js';
import type { Device, LoadOptions } from './device.js';
import { keptBytes, KeptMemory, type DeviceMemoryBlock } from './kept-memory.js';
import { binaryOf, hasKernelsFor, toolchainOf } from './jit.js';
import { MercerError } from './mercer-error.js';
import type { NativeFunction } from './native-function.js';
import type { NativeMemory, StorageBlock } from './storage-block.js';
import { StreamCore, type CapturedGraph, type StreamUse } from './stream-core.js';

/** Dynamic shared memory that a kernel may use without asking. */
const PLAIN_SHARED_BYTES = 48 * 1024;
const TWO_32 = 2n ** 32n;

/** Work that was captured from a stream of a GPU. */
class CudaCapturedGraph implements CapturedGraph {
  readonly native: CudaGraphExec;

  constructor(native: CudaGraphExec) {
    this.native = native;
  }

  launch(stream: StreamCore): void {
    this.native.launch(nativeOf(stream));
  }

  dispose(): void {
    this.native.dispose();
  }
}

function graphOf(graph: CapturedGraph): CudaGraphExec {
  if (graph instanceof CudaCapturedGraph) return graph.native;
  throw new TypeError('a graph of a CPU');
}

/** A stream of a GPU. @internal */
export class CudaStreamCore extends StreamCore<CudaEvent> {
  readonly native: CudaStream;
  readonly #kept = new KeptMemory();

  constructor(device: Device, label: string, native: CudaStream) {
    super(device, label);
    this.native = native;
  }

  get inFlight(): number {
    return this.native.inFlight;
  }

  override get capturing(): boolean {
    return !this.disposed && this.native.capturing;
  }

  record(): CudaEvent {
    return this.#event(false);
  }

  recordTimed(): CudaEvent {
    return this.#event(true);
  }

  #event(timing: boolean): CudaEvent {
    const event = this.native.device.createEvent({ timing });
    this.native.record(event);
    return event;
  }

  protected waitEvent(event: CudaEvent): void {
    this.native.wait(event);
  }

  protected whenDone(): Promise<void> {
    return this.native.whenDone();
  }

  /** Memory for the next use on this stream, where it has kept such a block. */
  take(bytes: number): DeviceMemoryBlock | undefined {
    return this.#kept.take(bytes);
  }

  /** Keeps memory that was allocated on this stream and that it alone has used; false where it has to go back. */
  keep(memory: DeviceMemoryBlock): boolean {
    return this.#kept.keep(memory);
  }

  /** Gives back what it keeps, behind its work. */
  freeKept(): void {
    for (const { handle } of this.#kept.takeAll()) handle.free(this.native);
  }

  protected startCapture(): void {
    this.freeKept();
    this.native.beginCapture();
  }

  get captureLine(): CaptureLine {
    const { native } = this;
    return {
      point: () => native.capturePoint(),
      follow: (points) => {
        native.followCapture(points);
      },
    };
  }

  protected finishCapture(): CapturedGraph {
    using graph = this.native.endCapture();
    return new CudaCapturedGraph(graph.instantiate());
  }

  protected release(): void {
    this.freeKept();
    this.native.dispose();
  }
}

/** A stream of this device is of its class: `streamFor` has seen to that. */
function nativeOf(stream: StreamCore): CudaStream {
  if (stream instanceof CudaStreamCore) return stream.native;
  throw new TypeError(`${stream.label} is not a stream of a GPU`);
}

/** Whether uses are on several streams. */
function isOfSeveral(uses: readonly StreamUse[]): boolean {
  for (const { stream } of uses) if (stream !== uses[0]?.stream) return true;
  return false;
}

const bufferOf = (storage: StorageBlock): DeviceBuffer => storage.handle as DeviceBuffer;

/** One GPU. */
export class CudaDevice extends DeviceCore<CudaStreamCore> {
  readonly kind = 'cuda';
  readonly index: number;
  readonly id: `cuda:${number}`;
  #native: NativeDevice | undefined;
  #limits: CudaLimits | undefined;
  #releases: CudaStreamCore | undefined;
  #besideCaptures: CudaStream | undefined;
  /** GPUs whose memory copies to this one may use. */
  readonly #reached = new Set<CudaDevice>();
  #postponed: { readonly memory: DeviceMemoryBlock; readonly uses: readonly StreamUse[] }[] = [];
  /** Whether streams keep memory for their next results. */
  readonly #keepsMemory = process.env['MERCER_KEEP_MEMORY'] !== '0';

  constructor(index: number) {
    super();
    this.index = index;
    this.id = `cuda:${index}`;
  }

  /** The runtime's device; opening it makes the primary context. */
  get native(): NativeDevice {
    this.#native ??= cuda.device(this.index);
    return this.#native;
  }

  get name(): string {
    return this.native.name;
  }

  get limits(): CudaLimits {
    if (this.#limits === undefined) {
      const { native } = this;
      this.#limits = Object.freeze({
        kind: 'cuda',
        arch: native.arch,
        computeCapability: native.computeCapability,
        multiprocessors: native.attribute('multiprocessorCount'),
        maxThreadsPerBlock: native.attribute('maxThreadsPerBlock'),
        sharedMemPerBlockOptin: native.attribute('maxSharedMemoryPerBlockOptin'),
        sharedMemPerMultiprocessor: native.attribute('maxSharedMemoryPerMultiprocessor'),
        registersPerMultiprocessor: native.attribute('maxRegistersPerMultiprocessor'),
        l2Bytes: native.attribute('l2CacheBytes'),
        parameterBytes: native.maxParameterBytes,
      });
    }
    return this.#limits;
  }

  protected newStream(label: string, priority: number | undefined): CudaStreamCore {
    const options = priority === undefined ? {} : { priority };
    return new CudaStreamCore(this, label, this.native.createStream(options));
  }

  protected allocateNative(bytes: number, stream: CudaStreamCore): NativeMemory {
    this.#freePostponed();
    const { capturing } = stream;
    const size = (this.#keepsMemory ? keptBytes(bytes) : undefined) ?? bytes;
    const kept = capturing ? undefined : stream.take(size);
    if (kept !== undefined) return kept;
    let handle: DeviceBuffer;
    try {
      handle = capturing ? this.#allocateBeside(bytes) : this.native.allocate(size, stream.native);
    } catch (cause) {
      if (cause instanceof OutOfMemoryError) throw new NativeOutOfMemory(cause.message, { cause });
      throw cause;
    }
    const memory: DeviceMemoryBlock = {
      address: Number(handle.address),
      handle,
      allocatedOn: capturing ? undefined : stream,
      free: (uses) => {
        this.#free(memory, uses);
      },
    };
    return memory;
  }

  /** A capture records work and cannot allocate: memory for what it records is there before it runs. */
  #allocateBeside(bytes: number): DeviceBuffer {
    this.#besideCaptures ??= this.native.createStream();
    const buffer = this.native.allocate(bytes, this.#besideCaptures);
    this.#besideCaptures.synchronizeSync();
    return buffer;
  }

  /** Frees behind all uses. A stream that captures cannot be waited for: there the memory is freed some time afterwards. */
  #free(memory: DeviceMemoryBlock, uses: readonly StreamUse[]): void {
    if (isOfSeveral(uses) && uses.some(({ stream }) => stream.capturing)) {
      this.#postponed.push({ memory, uses });
      return;
    }
    let stream: CudaStreamCore;
    try {
      stream = this.#freeingStream(uses);
    } catch (error) {
      // The memory of a dead device is gone with it.
      if (this.native.dead === undefined) throw error;
      memory.handle.free();
      return;
    }
    const isKept = this.#keepsMemory && memory.allocatedOn === stream && stream.keep(memory);
    if (!isKept) memory.handle.free(stream.native);
  }

  #freePostponed(): void {
    if (this.#postponed.length === 0) return;
    const waiting = this.#postponed;
    this.#postponed = [];
    for (const { memory, uses } of waiting) this.#free(memory, uses);
  }

  /** The one stream of all uses, or one that waits for all of them. */
  #freeingStream(uses: readonly StreamUse[]): CudaStreamCore {
    const first = uses[0]?.stream as CudaStreamCore | undefined;
    if (first !== undefined && !first.disposed && !isOfSeveral(uses)) return first;
    this.#releases ??= this.newStream(`${this.id} releases`, undefined);
    for (const use of uses) {
      try {
        this.#releases.waitFor(use);
      } catch (error) {
        // A dead device uses no memory any more.
        if (nativeOf(use.stream).device.dead === undefined) throw error;
      }
    }
    this.#releases.enqueued++;
    return this.#releases;
  }

  protected trim(): void {
    this.#freePostponed();
    for (const stream of this.streams()) stream.freeKept();
    this.native.synchronizeSync();
    this.native.pool.trimTo(0);
  }

  protected memoryInfo(): { freeBytes: number; totalBytes: number } {
    return this.native.memoryInfo();
  }

  protected override pooledBytes(): number {
    const { reservedBytes, usedBytes } = this.native.pool;
    return reservedBytes - usedBytes;
  }

  executors(): Promise<'compiled'> {
    return Promise.resolve('compiled');
  }

  protected isCached(): Promise<boolean> {
    return Promise.resolve(false);
  }

  protected interpret(): undefined {
    return undefined;
  }

  protected async build(
    kernel: EmittedKernel,
    { debug, signal }: LoadOptions,
  ): Promise<NativeFunction> {
    const { entry, source, options } = kernel;
    const { arch } = this.native;
    const { binary, loweredNames } = await binaryOf(
      { language: 'cuda', source, options, target: arch, names: [entry] },
      async () => [await toolchainOf(nvrtcToolchain), cudaTarget(arch, nvrtc.supportedArchs())],
      { ...(debug !== undefined && { debug }), ...(signal && { signal }) },
    );
    // Loaded elsewhere: the driver may wait for a kernel under way, and the event loop must not.
    const name = loweredNames[entry] ?? entry;
    const native = (await this.native.loadModuleAsync(binary, [name])).function(name);
    const offsets = Uint32Array.from(packParams(kernel.params).offsets);
    let granted = PLAIN_SHARED_BYTES;
    return {
      isImage: true,
      executor: undefined,
      launch: (geometry, stream, packed, keepAlive) => {
        const { sharedMemBytes } = geometry as CudaGeometry;
        if (sharedMemBytes > granted) {
          native.setMaxDynamicSharedMem(sharedMemBytes);
          granted = sharedMemBytes;
        }
        const queue = nativeOf(stream);
        native.enqueue(geometry as CudaGeometry, queue, packed, offsets);
        if (queue.capturing) {
          for (const handle of keepAlive) queue.keepForCapture(handle as DeviceBuffer);
        }
      },
      launchIn: (graph, point, geometry, packed, ofLoops) => {
        native.enqueueIn(geometry, graphOf(graph), point, packed, offsets, ofLoops);
      },
      loopOf: (graph, geometry, packed) =>
        new CudaCapturedGraph(native.loopOf(geometry, graphOf(graph), packed, offsets)),
    };
  }

  protected builtin({ name }: BuiltinKernel): NativeFunction {
    throw new MercerError(
      'UNSUPPORTED',
      `${name}: it is computed on the CPU only, and the tensors are on ${this.id}. Move them with to('cpu').`,
    );
  }

  /** What the addon copies into a pinned slot. */
  readonly takenAtOnce = 2 ** 22;

  upload(
    to: StorageBlock,
    byteOffset: number,
    source: ArrayBufferView,
    stream: CudaStreamCore,
  ): Promise<void> | undefined {
    const { buffer, byteOffset: at, byteLength } = source;
    if (byteLength === 0) return undefined;
    const { capture } = stream;
    if (capture instanceof CaptureMemory) {
      // uploaded once, and copied by every replay: the memory may be another's in between
      const held = capture.hold(byteLength, 'numbers');
      const taken = this.upload(held, 0, source, this.ownStream);
      held.noteWrite(this.ownStream);
      this.move(to, byteOffset, held, 0, byteLength, stream);
      return taken;
    }
    stream.enqueued++;
    return stream.native.copyKeptToDevice(
      bufferOf(to),
      byteOffset,
      new Uint8Array(buffer, at, byteLength),
    );
  }

  async download(
    from: StorageBlock,
    byteOffset: number,
    target: ArrayBufferView,
    stream: CudaStreamCore,
  ): Promise<void> {
    if (target.byteLength === 0) {
      await stream.native.whenDone();
      return;
    }
    stream.enqueued++;
    await stream.native.copyToKeptHost(target, bufferOf(from), byteOffset);
  }

  hostView(): undefined {
    return undefined;
  }

  move(
    to: StorageBlock,
    toOffset: number,
    from: StorageBlock,
    fromOffset: number,
    bytes: number,
    stream: CudaStreamCore,
  ): void {
    const { device: source } = from;
    if (source instanceof CudaDevice && source !== this) this.#reach(source);
    stream.capture?.begin([from], [to]);
    try {
      stream.native.copyDeviceToDevice(bufferOf(to), toOffset, bufferOf(from), fromOffset, bytes);
    } finally {
      stream.capture?.end();
    }
    stream.enqueued++;
  }

  /** Lets copies from a peer go directly, where they can; without it they go through the host. */
  #reach(peer: CudaDevice): void {
    if (this.#reached.has(peer)) return;
    this.#reached.add(peer);
    if (this.native.canAccessPeer(peer.native)) this.native.enablePeerAccess(peer.native);
  }

  memset(
    to: StorageBlock,
    byteOffset: number,
    count: number,
    width: number,
    pattern: bigint,
    stream: CudaStreamCore,
  ): boolean {
    let unit: number = width;
    if (width === 8) {
      if (pattern >> 32n !== pattern % TWO_32) return false;
      unit = 4;
    }
    if (unit !== 1 && unit !== 2 && unit !== 4) return false;
    const value = Number(pattern % TWO_32);
    stream.capture?.begin([], [to]);
    try {
      stream.native.memset(bufferOf(to), byteOffset, value, count * width, unit);
    } finally {
      stream.capture?.end();
    }
    stream.enqueued++;
    return true;
  }
}

/** @throws MercerError NO_BACKEND when this machine has no such GPU. */
export function assertCudaIndex(index: number): void {
  const report = cuda.report();
  const count = report.devices.length;
  const found = report.devices[index];
  if (found !== undefined && (report.nvrtc.found || hasKernelsFor(found.arch))) return;
  const why = !report.driver.found
    ? 'the CUDA driver was not found'
    : index >= count
      ? `there are ${count} GPUs`
      : `NVRTC was not found, and no package with kernels for ${found?.arch ?? 'it'}`;
  throw new MercerError(
    'NO_BACKEND',
    `device cuda:${index}: ${why}${report.error === undefined ? '' : ` (${report.error})`}. Run \`mercer doctor\` for what was tried and what to install, or use device 'cpu'.`,
  );
}
