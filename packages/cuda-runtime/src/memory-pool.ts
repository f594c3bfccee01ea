import type { Addon } from './native/addon.js';
import type { DeviceHandle } from './native/handles.js';

/** The device's own stream-ordered memory pool, shared by the threads of this process. */
export class MemoryPool {
  readonly #addon: Addon;
  readonly #device: DeviceHandle;
  /** @internal */
  constructor(addon: Addon, device: DeviceHandle) {
    this.#addon = addon;
    this.#device = device;
  }

  /** Bytes in use by buffers. */
  get usedBytes(): number {
    return this.#addon.poolState(this.#device).usedBytes;
  }

  /** Bytes taken from the device, in use or kept for later. */
  get reservedBytes(): number {
    return this.#addon.poolState(this.#device).reservedBytes;
  }

  /** The pool gives memory above this back at a synchronisation. Infinity (the default) keeps all. */
  get releaseThresholdBytes(): number {
    return this.#addon.poolState(this.#device).releaseThresholdBytes;
  }

  set releaseThresholdBytes(bytes: number) {
    this.#addon.poolSetThreshold(this.#device, bytes);
  }

  /**
   * Gives unused memory back to the device until at most `keepBytes` are reserved.
   *
   * @see cuMemPoolTrimTo: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html
   */
  trimTo(keepBytes: number): void {
    this.#addon.poolTrim(this.#device, keepBytes);
  }
}
