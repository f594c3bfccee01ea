import type { CudaDevice } from './device.js';
import type { Addon } from './native/addon.js';
import type { BufferHandle } from './native/handles.js';
import { Owned, handleOf } from './native/owned.js';
import { native } from './native/owned.js';
import type { CudaStream } from './stream.js';

/** Device memory. Borrowed by copies and launches; the caller keeps it until they are enqueued. */
export class DeviceBuffer extends Owned<BufferHandle> {
  readonly #addon: Addon;
  readonly device: CudaDevice;
  /** Size in bytes. */
  readonly bytes: number;
  /** Device address; 0 for an empty buffer. */
  readonly address: bigint;
  /** @internal */
  constructor(addon: Addon, device: CudaDevice, handle: BufferHandle, bytes: number) {
    super(handle);
    this.#addon = addon;
    this.device = device;
    this.bytes = bytes;
    this.address = addon.bufferAddress(handle);
  }

  /**
   * @internal Whether something beside this object holds the memory: a copy, a graph, or work of a library that is not enqueued yet.
   * Memory that nothing holds can be used again in the order of its stream.
   */
  get isHeld(): boolean {
    return this.#addon.bufferIsHeld(this[native]);
  }

  /**
   * Gives the memory back once the work enqueued so far on `stream` is done (default: the stream it
   * was allocated on). Later use of this object is a `DISPOSED` error; freeing twice does nothing.
   *
   * @see cuMemFreeAsync: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html
   */
  free(stream?: CudaStream): void {
    this.#addon.bufferFree(
      this[native],
      stream === undefined ? undefined : handleOf(stream, 'CudaStream'),
    );
  }

  override dispose(): void {
    this.free();
  }
}
