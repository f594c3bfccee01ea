import type { CudaDevice } from './device.js';
import type { Addon } from './native/addon.js';
import type { EventHandle } from './native/handles.js';
import { Owned, handleOf, native } from './native/owned.js';

/** A point in a stream's work. Record it with `stream.record(event)`. */
export class CudaEvent extends Owned<EventHandle> {
  readonly #addon: Addon;
  readonly device: CudaDevice;
  /** @internal */
  constructor(addon: Addon, device: CudaDevice, timing: boolean) {
    super(addon.eventCreate(device[native], timing));
    this.#addon = addon;
    this.device = device;
  }

  /**
   * True when the work before the latest record is done, or it was never recorded.
   *
   * @see cuEventQuery: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  query(): boolean {
    return this.#addon.eventQuery(this[native]);
  }

  /**
   * Resolves when the work before the latest record is done; rejects with the device's error.
   *
   * @see cuEventQuery: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  synchronize(): Promise<void> {
    return this.#addon.eventWhenDone(this[native]);
  }

  /**
   * Milliseconds of device time between two finished events made with `timing: true`.
   *
   * @see cuEventElapsedTime: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  elapsedMs(since: CudaEvent): number {
    return this.#addon.eventElapsedMs(this[native], handleOf(since, 'CudaEvent'));
  }

  override dispose(): void {
    this.#addon.eventDispose(this[native]);
  }
}
