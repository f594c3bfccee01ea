import { describeValue, type OptionNames } from '@mercer/options';
import { cudaAttributes, type CudaAttribute } from './attributes.js';
import { codeOf } from './code-of.js';
import { DeviceBuffer } from './device-buffer.js';
import { misuse, type CudaError } from './errors.js';
import { CudaEvent } from './event.js';
import { nvrtcReport } from './library/open-libraries.js';
import { MemoryPool } from './memory-pool.js';
import { CudaModule } from './module.js';
import type { Addon } from './native/addon.js';
import type { DeviceHandle } from './native/handles.js';
import { Owned, handleOf, native } from './native/owned.js';
import { PinnedBuffer } from './pinned-buffer.js';
import { readOptions } from './read-options.js';
import { CudaStream } from './stream.js';

/** What a new stream may be told. */
export interface CudaStreamOptions {
  /** Lower runs first; see `device.streamPriorityRange`. Default 0. */
  readonly priority?: number;
}

/** What a new event may be told. */
export interface CudaEventOptions {
  /** Whether it takes the time, which costs a little. Default false. */
  readonly timing?: boolean;
}

const STREAM_OPTIONS: OptionNames<CudaStreamOptions> = { priority: true };
const EVENT_OPTIONS: OptionNames<CudaEventOptions> = { timing: true };

/** Kernels launched often are launched as graphs of one kernel, each of which takes some 113 kB of the device. */
const MOST_LAUNCH_GRAPHS = 256;

function mostLaunchGraphs(): number {
  const given = process.env['MERCER_CUDA_LAUNCH_GRAPHS'] ?? '';
  if (given === '') return MOST_LAUNCH_GRAPHS;
  if (/^\d{1,6}$/.test(given)) return Number(given);
  throw misuse(
    'INVALID_ARGUMENT',
    `MERCER_CUDA_LAUNCH_GRAPHS is ${describeValue(given)}, but says how many kernels of a device may be launched as graphs. ` +
      `Set a whole number below a million, 0 for none, or unset it for ${MOST_LAUNCH_GRAPHS}.`,
  );
}

/** One GPU. Get it from `cuda.device(index)`; its primary context is retained at that moment. */
export class CudaDevice extends Owned<DeviceHandle> {
  readonly #addon: Addon;
  readonly #onDispose: () => void;
  #defaultStream: CudaStream | undefined;
  readonly index: number;
  readonly name: string;
  /** `GPU-xxxxxxxx-...`, as nvidia-smi prints it. */
  readonly uuid: string;
  readonly computeCapability: readonly [major: number, minor: number];
  /** Real architecture with its suffix: `sm_90a`, `sm_86`. */
  readonly arch: string;
  /** The stream-ordered memory pool. */
  readonly pool: MemoryPool;
  /** @internal */
  constructor(addon: Addon, index: number, onDispose: () => void) {
    super(addon.deviceOpen(index, mostLaunchGraphs()));
    this.#addon = addon;
    this.#onDispose = onDispose;
    this.index = index;
    const info = addon.deviceInfo(index);
    this.name = info.name;
    this.uuid = info.uuid;
    const major = this.attribute('computeCapabilityMajor');
    const minor = this.attribute('computeCapabilityMinor');
    this.computeCapability = [major, minor];
    this.arch = archOf(major, minor);
    this.pool = new MemoryPool(addon, this[native]);
  }

  /**
   * Bytes that the parameters of one launch may take: 32764 from CUDA 12.1 on, driver and compiler, and compute capability 7.0; 4096 before.
   *
   * @see Kernel parameters: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#function-parameters
   */
  get maxParameterBytes(): number {
    const report = nvrtcReport();
    const [major = 0, minor = 0] = (report.version ?? '').split('.').map(Number);
    const isNew = this.#addon.driverVersion() >= 12010 && 100 * major + minor >= 1201;
    return isNew && this.computeCapability[0] >= 7 ? 32764 : 4096;
  }

  /**
   * A device attribute by name.
   *
   * @see cuDeviceGetAttribute: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html
   */
  attribute(name: CudaAttribute): number {
    return this.#addon.deviceAttribute(this.index, codeOf(cudaAttributes, name, 'The attribute'));
  }

  /**
   * Free and total bytes, other processes included.
   *
   * @see cuMemGetInfo: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  memoryInfo(): { freeBytes: number; totalBytes: number } {
    return this.#addon.deviceMemory(this[native]);
  }

  /** This thread's own non-blocking stream (never the driver's stream 0). */
  get defaultStream(): CudaStream {
    this.#defaultStream ??= this.createStream();
    return this.#defaultStream;
  }

  /**
   * A new non-blocking stream; see `streamPriorityRange`.
   *
   * @see cuStreamCreateWithPriority: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  createStream(options?: CudaStreamOptions): CudaStream {
    const { priority = 0 } = readOptions('createStream', options, STREAM_OPTIONS);
    return new CudaStream(this.#addon, this, priority);
  }

  /** The least and the greatest priority; lower numbers run first. */
  get streamPriorityRange(): readonly [least: number, greatest: number] {
    return this.#addon.priorityRange(this[native]);
  }

  /**
   * A new event; only those with timing can be subtracted.
   *
   * @see cuEventCreate: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  createEvent(options?: CudaEventOptions): CudaEvent {
    const { timing = false } = readOptions('createEvent', options, EVENT_OPTIONS);
    return new CudaEvent(this.#addon, this, timing);
  }

  /**
   * Device memory from the pool, usable in the order of `stream`. Throws `OutOfMemoryError` when
   * trimming the pool did not help.
   *
   * @see cuMemAllocFromPoolAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html
   */
  allocate(bytes: number, stream: CudaStream): DeviceBuffer {
    const handle = this.#addon.bufferCreate(handleOf(stream, 'CudaStream'), bytes);
    return new DeviceBuffer(this.#addon, stream.device, handle, bytes);
  }

  /**
   * Page-locked host memory.
   *
   * @see cuMemHostAlloc: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  allocatePinned(bytes: number): PinnedBuffer {
    return new PinnedBuffer(this.#addon, this, bytes);
  }

  /**
   * Loads a cubin, fatbin or PTX text. The driver may wait for work under way on the device, here
   * and at the first launch of each kernel: while other work runs, prefer `loadModuleAsync`.
   *
   * @see cuModuleLoadData: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html
   */
  loadModule(image: Uint8Array): CudaModule {
    return new CudaModule(this.#addon, this, this.#addon.moduleLoad(this[native], image));
  }

  /**
   * The same on another thread; the kernels named in `entries` are loaded as well.
   *
   * @see cuModuleLoadData: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html
   */
  async loadModuleAsync(image: Uint8Array, entries: readonly string[] = []): Promise<CudaModule> {
    const handle = await this.#addon.moduleLoadLater(this[native], image, entries);
    return new CudaModule(this.#addon, this, handle);
  }

  /** Resolves when the default stream is done; other streams have their own `synchronize`. */
  synchronize(): Promise<void> {
    return this.defaultStream.synchronize();
  }

  /** Waits here until everything on the device is done, whoever enqueued it. */
  synchronizeSync(): void {
    this.#addon.deviceSynchronize(this[native]);
  }

  /**
   * True if kernels here can reach the memory of `peer`.
   *
   * @see cuDeviceCanAccessPeer: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html
   */
  canAccessPeer(peer: CudaDevice): boolean {
    return this.#addon.canAccessPeer(this[native], handleOf(peer, 'CudaDevice'));
  }

  /**
   * Lets kernels here use the memory of `peer` (one direction). May be called twice.
   *
   * @see cuCtxEnablePeerAccess: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html
   */
  enablePeerAccess(peer: CudaDevice): void {
    this.#addon.enablePeerAccess(this[native], handleOf(peer, 'CudaDevice'));
  }

  /** The first error that made the device unusable, if there was one. */
  get dead(): CudaError | undefined {
    return this.#addon.deviceCause(this[native]) as CudaError | undefined;
  }

  /** Bytes of device buffers alive in this process. */
  get liveBytes(): number {
    return this.#addon.deviceLive(this[native]).bytes;
  }

  /** Number of device buffers alive in this process. */
  get liveBuffers(): number {
    return this.#addon.deviceLive(this[native]).buffers;
  }

  /** Disables this object and everything made from it on this thread. `cuda.device` gives a new one. */
  override dispose(): void {
    this.#onDispose();
    this.#addon.deviceClose(this[native]);
  }
}

/** Hopper and newer have features only the suffixed architecture may use. */
export function archOf(major: number, minor: number): string {
  return `sm_${major * 10 + minor}${major >= 9 ? 'a' : ''}`;
}
