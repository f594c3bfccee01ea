import { CudaFunction } from './cuda-function.js';
import type { CudaDevice } from './device.js';
import type { Addon } from './native/addon.js';
import type { ModuleHandle } from './native/handles.js';
import { Owned, native } from './native/owned.js';

/** Code loaded on one device. */
export class CudaModule extends Owned<ModuleHandle> {
  readonly #addon: Addon;
  readonly device: CudaDevice;
  /** @internal */
  constructor(addon: Addon, device: CudaDevice, handle: ModuleHandle) {
    super(handle);
    this.#addon = addon;
    this.device = device;
  }

  /**
   * The kernel with this (lowered) name.
   *
   * @see cuModuleGetFunction: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html
   */
  function(entry: string): CudaFunction {
    return new CudaFunction(this.#addon, this.#addon.moduleFunction(this[native], entry), entry);
  }

  /**
   * Address and size of a `__device__` or `__constant__` variable.
   *
   * @see cuModuleGetGlobal: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html
   */
  variable(name: string): { address: bigint; bytes: number } {
    return this.#addon.moduleGlobal(this[native], name);
  }

  /** Launching its functions becomes an error; work already enqueued stays valid. */
  override dispose(): void {
    this.#addon.moduleDispose(this[native]);
  }
}
