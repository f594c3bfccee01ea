import type { CudaDevice } from './device.js';
import type { Addon } from './native/addon.js';
import type { PinnedHandle } from './native/handles.js';
import { Owned, native } from './native/owned.js';

/**
 * Page-locked host memory: copies to and from it run without staging, also inside graphs.
 *
 * @see cuMemHostAlloc, cuMemFreeHost: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
 */
export class PinnedBuffer extends Owned<PinnedHandle> {
  readonly #addon: Addon;
  readonly device: CudaDevice;
  readonly bytes: number;
  /** The memory itself. Detached (length 0) after dispose. */
  readonly arrayBuffer: ArrayBuffer;
  /** @internal */
  constructor(addon: Addon, device: CudaDevice, bytes: number) {
    const { handle, arrayBuffer } = addon.pinnedCreate(device[native], bytes);
    super(handle);
    this.#addon = addon;
    this.device = device;
    this.bytes = bytes;
    this.arrayBuffer = arrayBuffer;
  }

  /** Unlocks the pages once copies under way are done; views of `arrayBuffer` become empty at once. */
  override dispose(): void {
    this.#addon.pinnedDispose(this[native], this.arrayBuffer);
  }
}
