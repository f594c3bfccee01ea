import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DeviceBuffer } from './device-buffer.js';
import type { CudaDevice } from './device.js';
import { misuse } from './errors.js';
import type { CudaEvent } from './event.js';
import { CudaGraph } from './graph.js';
import { bytesOf, type HostMemory } from './host-memory.js';
import type { Addon } from './native/addon.js';
import type { StreamHandle } from './native/handles.js';
import { Owned, handleOf, native } from './native/owned.js';
import { PinnedBuffer } from './pinned-buffer.js';

/**
 * Work in order on one device. Everything enqueued runs in the order of the calls; nothing here
 * waits for the device except the methods that end in `Sync`.
 */
export class CudaStream extends Owned<StreamHandle> {
  readonly #addon: Addon;
  /** Whether a capture has begun and not ended well: the addon is asked only then. */
  #began = false;
  readonly device: CudaDevice;
  /** Lower runs first; see `device.streamPriorityRange`. */
  readonly priority: number;
  /** @internal */
  constructor(addon: Addon, device: CudaDevice, priority: number) {
    super(addon.streamCreate(device[native], priority));
    this.#addon = addon;
    this.device = device;
    this.priority = priority;
  }

  /** The driver's CUstream, for libraries that take one. */
  get handle(): bigint {
    return this.#addon.streamHandle(this[native]);
  }

  /**
   * Copies host memory to the device, in stream order from the moment of the call. The bytes are taken during the call (some
   * 0.2 ms for a MiB of this thread); up to 4 MiB the promise is already resolved then. A pinned source is read while the
   * stream gets there and must not change until the promise resolves.
   *
   * @see cuMemcpyHtoDAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  copyToDevice(
    dst: DeviceBuffer,
    dstOffset: number,
    src: HostMemory | PinnedBuffer,
    srcOffset = 0,
    bytes = byteLengthOf(src) - srcOffset,
  ): Promise<void> {
    return settled(() => {
      const to = handleOf(dst, 'DeviceBuffer');
      if (src instanceof PinnedBuffer) {
        return this.#addon.copyFromPinned(
          this[native],
          to,
          dstOffset,
          src[native],
          srcOffset,
          bytes,
        );
      }
      const memory = bytesOf(src);
      // What is read later is memory that nobody can transfer or give back.
      const taken = bytes > TAKEN_AT_ONCE && isPart(memory, srcOffset, bytes);
      return taken
        ? this.#addon.copyToDevice(
            this[native],
            to,
            dstOffset,
            partOf(memory, srcOffset, bytes),
            0,
            bytes,
          )
        : this.#addon.copyToDevice(this[native], to, dstOffset, memory, srcOffset, bytes);
    });
  }

  /**
   * @internal As {@link copyToDevice}, of memory that stays as it is until the promise settles, whatever becomes of its
   * ArrayBuffer: nothing is copied during the call.
   * @see cuMemcpyHtoDAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  copyKeptToDevice(dst: DeviceBuffer, dstOffset: number, src: Uint8Array): Promise<void> {
    return settled(() => {
      const to = handleOf(dst, 'DeviceBuffer');
      return this.#addon.copyToDevice(this[native], to, dstOffset, src, 0, src.byteLength);
    });
  }

  /** The same; returns once the source has been read, which may mean waiting for the stream. */
  copyToDeviceSync(
    dst: DeviceBuffer,
    dstOffset: number,
    src: HostMemory,
    srcOffset = 0,
    bytes = byteLengthOf(src) - srcOffset,
  ): void {
    const to = handleOf(dst, 'DeviceBuffer');
    this.#addon.copyToDeviceSync(this[native], to, dstOffset, bytesOf(src), srcOffset, bytes);
  }

  /**
   * Copies device memory to the host; resolves when the bytes are in `dst`. More than 4 MiB that are not pinned arrive in memory of
   * their own first, and are moved by this thread in pieces.
   *
   * @throws CudaError `OUT_OF_RANGE` where `dst` was transferred or made smaller meanwhile
   * @see cuMemcpyDtoHAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  copyToHost(
    dst: HostMemory | PinnedBuffer,
    src: DeviceBuffer,
    srcOffset = 0,
    bytes = Math.min(byteLengthOf(dst), src.bytes - srcOffset),
    dstOffset = 0,
  ): Promise<void> {
    return settled(() => {
      const from = handleOf(src, 'DeviceBuffer');
      if (dst instanceof PinnedBuffer) {
        return this.#addon.copyToPinned(
          this[native],
          from,
          srcOffset,
          dst[native],
          dstOffset,
          bytes,
        );
      }
      const memory = bytesOf(dst);
      return bytes > TAKEN_AT_ONCE && isPart(memory, dstOffset, bytes)
        ? this.#readInto(memory, dstOffset, src, srcOffset, bytes)
        : this.#addon.copyToHost(this[native], from, srcOffset, memory, dstOffset, bytes);
    });
  }

  async #readInto(
    dst: Uint8Array,
    dstOffset: number,
    src: DeviceBuffer,
    srcOffset: number,
    bytes: number,
  ): Promise<void> {
    const arrived = new Uint8Array(bytes);
    await this.copyToKeptHost(arrived, src, srcOffset);
    for (let at = 0; at < bytes; at += TAKEN_AT_ONCE) {
      if (at > 0) await nextTurn();
      if (!isPart(dst, dstOffset, bytes)) {
        throw misuse(
          'OUT_OF_RANGE',
          `The destination has ${dst.byteLength} bytes left: its ArrayBuffer was transferred while the copy was under way. Keep it until the promise settles.`,
        );
      }
      dst.set(arrived.subarray(at, at + TAKEN_AT_ONCE), dstOffset + at);
    }
  }

  /**
   * @internal As {@link copyToHost}, straight into memory that stays until the promise settles, whatever becomes of its
   * ArrayBuffer: an array that nobody else can reach, or native memory.
   * @see cuMemcpyDtoHAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  copyToKeptHost(dst: ArrayBufferView, src: DeviceBuffer, srcOffset = 0): Promise<void> {
    return settled(() => {
      const from = handleOf(src, 'DeviceBuffer');
      const memory = bytesOf(dst);
      return this.#addon.copyToHost(this[native], from, srcOffset, memory, 0, memory.byteLength);
    });
  }

  /** The same, waiting here. */
  copyToHostSync(
    dst: HostMemory,
    src: DeviceBuffer,
    srcOffset = 0,
    bytes = Math.min(byteLengthOf(dst), src.bytes - srcOffset),
    dstOffset = 0,
  ): void {
    const from = handleOf(src, 'DeviceBuffer');
    this.#addon.copyToHostSync(this[native], from, srcOffset, bytesOf(dst), dstOffset, bytes);
  }

  /**
   * Copies between buffers, of one device or of two (directly where they can, else through the host).
   *
   * @see cuMemcpyDtoDAsync, cuMemcpyPeerAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  copyDeviceToDevice(
    dst: DeviceBuffer,
    dstOffset: number,
    src: DeviceBuffer,
    srcOffset: number,
    bytes: number,
  ): void {
    const to = handleOf(dst, 'DeviceBuffer');
    const from = handleOf(src, 'DeviceBuffer');
    this.#addon.copyBetweenBuffers(this[native], to, dstOffset, from, srcOffset, bytes);
  }

  /**
   * Fills `bytes` bytes with elements of `width` bytes that all equal `value` (its low bits).
   *
   * @see cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
   */
  memset(
    buffer: DeviceBuffer,
    offset: number,
    value: number,
    bytes: number,
    width: 1 | 2 | 4 = 1,
  ): void {
    if (bytes % width !== 0) {
      throw misuse(
        'INVALID_ARGUMENT',
        `${bytes} bytes are not a whole number of elements of ${width} bytes. Pass a multiple.`,
      );
    }
    const to = handleOf(buffer, 'DeviceBuffer');
    this.#addon.memset(this[native], to, offset, value, bytes / width, width);
  }

  /**
   * Marks this point of the stream.
   *
   * @see cuEventRecord: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  record(event: CudaEvent): void {
    this.#addon.eventRecord(handleOf(event, 'CudaEvent'), this[native]);
  }

  /**
   * Later work on this stream waits for the event, also one of another device.
   *
   * @see cuStreamWaitEvent: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  wait(event: CudaEvent): void {
    this.#addon.eventWaitedBy(handleOf(event, 'CudaEvent'), this[native]);
  }

  /** Resolves when all work enqueued so far is done; rejects with the device's error. */
  synchronize(): Promise<void> {
    return this.whenDone();
  }

  /**
   * Waits here until all work enqueued so far is done.
   *
   * @see cuStreamSynchronize: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  synchronizeSync(): void {
    this.#addon.streamSynchronize(this[native]);
  }

  /**
   * True when nothing is left to do.
   *
   * @see cuStreamQuery: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  query(): boolean {
    return this.#addon.streamQuery(this[native]);
  }

  /** Resolves when all work enqueued so far is done; rejects with the device's error. */
  whenDone(): Promise<void> {
    return settled(() => this.#addon.streamWhenDone(this[native]));
  }

  /** Resolves when fewer than `limit` launches are in flight. */
  whenInFlightBelow(limit: number): Promise<void> {
    return settled(() => this.#addon.streamWhenBelow(this[native], limit));
  }

  /** Launches enqueued and not known finished: an upper bound, exact to 32 launches. */
  get inFlight(): number {
    return this.#addon.streamInFlight(this[native]);
  }

  /** True between beginCapture and endCapture. */
  get capturing(): boolean {
    return this.#began && this.#addon.streamCapturing(this[native]);
  }

  /**
   * From here on work is recorded into a graph instead of running.
   *
   * @see cuStreamBeginCapture: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  beginCapture(): void {
    this.#addon.streamBeginCapture(this[native]);
    this.#began = true;
  }

  /**
   * The graph that is being captured keeps this buffer's memory, also when it is freed before the graph runs. Kernel launches
   * do not do this by themselves, library calls and copies do. Nothing without a capture.
   */
  keepForCapture(buffer: DeviceBuffer): void {
    this.#addon.streamKeepForCapture(this[native], handleOf(buffer, 'DeviceBuffer'));
  }

  /**
   * A number for what work that is captured next would follow, which stays the same until something is captured or
   * `followCapture` is called. At first that is nothing.
   *
   * @see cuStreamGetCaptureInfo: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  capturePoint(): number {
    return this.#addon.streamCapturePoint(this[native]);
  }

  /**
   * Work that is captured next follows what the given points stand for, in the place of all that was captured before: nothing else
   * keeps the graph from running it beside that. The driver refuses the end of a capture (CUDA_ERROR_STREAM_CAPTURE_UNJOINED) that does not follow
   * all of it.
   *
   * @param points of this capture
   * @see cuStreamUpdateCaptureDependencies: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  followCapture(points: readonly number[]): void {
    this.#addon.streamFollowCapture(this[native], Uint32Array.from(points));
  }

  /**
   * Ends the capture and returns what was recorded.
   *
   * @see cuStreamEndCapture: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html
   */
  endCapture(): CudaGraph {
    const graph = new CudaGraph(this.#addon, this.#addon.streamEndCapture(this[native]));
    this.#began = false;
    return graph;
  }

  /** Work under way finishes; later use of this object is an error. */
  override dispose(): void {
    this.#addon.streamDispose(this[native]);
  }
}

/** The addon takes bytes of the caller during the call, or on this thread, up to here. */
const TAKEN_AT_ONCE = 4 * 2 ** 20;

const isPart = (memory: Uint8Array, offset: number, bytes: number): boolean =>
  offset >= 0 && bytes >= 0 && offset + bytes <= memory.byteLength;

const partOf = (memory: Uint8Array, offset: number, bytes: number): Uint8Array =>
  new Uint8Array(memory.subarray(offset, offset + bytes));

function byteLengthOf(memory: HostMemory | PinnedBuffer): number {
  return memory instanceof PinnedBuffer ? memory.bytes : memory.byteLength;
}

/** A promise also for what is thrown before there is one. */
function settled(start: () => true | Promise<void>): Promise<void> {
  try {
    const outcome = start();
    return outcome === true ? Promise.resolve() : outcome;
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}
