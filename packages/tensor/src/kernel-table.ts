import type { BuiltinKernel, EmittedKernel } from '@mercer/kernels';
import { SharedWork } from '@mercer/jit-cache';
import { collectGarbage } from './collect-garbage.js';
import { DeviceKernel } from './device-kernel.js';
import type { Device, LoadedKernel, LoadOptions } from './device.js';
import { kernelKey } from './kernel-key.js';
import { MercerError } from './mercer-error.js';
import type { NativeFunction } from './native-function.js';
import { RecentMap } from './recent-map.js';

/** Compiles a text and loads it. */
export type Build = (kernel: EmittedKernel, options: LoadOptions) => Promise<NativeFunction>;

/**
 * The kernels of one device. A text is compiled and loaded once, however many kernel values carry it; each value keeps
 * its own parameters and geometry. A failure is not kept.
 *
 * As many texts are remembered as the device's `kernelLimit` says, those that were used last. A kernel that something can still launch,
 * a prepared call, a kernel value or work that is enqueued, is reachable and stays loaded whether it is remembered or not; what is not
 * reachable is unloaded by the garbage collector, which is asked to do so once as many kernels were loaded as are remembered.
 */
export class KernelTable {
  readonly #device: Device;
  readonly #build: Build;
  readonly #functions: RecentMap<string, SharedWork<NativeFunction>>;
  readonly #pending = new WeakMap<EmittedKernel, SharedWork<LoadedKernel>>();
  readonly #builtins = new WeakMap<BuiltinKernel, LoadedKernel>();
  #loadedSinceCollection = 0;

  constructor(device: Device, build: Build) {
    this.#device = device;
    this.#build = build;
    this.#functions = new RecentMap(() => device.kernelLimit);
  }

  get(kernel: EmittedKernel, { debug, signal }: LoadOptions): Promise<LoadedKernel> {
    const known = this.#pending.get(kernel);
    if (known?.abandoned === false) return known.join(signal);
    const loading = new SharedWork((abandoned) =>
      this.#load(kernel, { debug, signal: abandoned }).catch((error: unknown) => {
        if (this.#pending.get(kernel) === loading) this.#pending.delete(kernel);
        throw error;
      }),
    );
    this.#pending.set(kernel, loading);
    return loading.join(signal);
  }

  /** A built-in function, looked up once for each kernel value. */
  builtin(kernel: BuiltinKernel, find: (kernel: BuiltinKernel) => NativeFunction): LoadedKernel {
    let loaded = this.#builtins.get(kernel);
    if (loaded === undefined) {
      loaded = new DeviceKernel(this.#device, kernel, find(kernel), undefined);
      this.#builtins.set(kernel, loaded);
    }
    return loaded;
  }

  async #load(kernel: EmittedKernel, { debug, signal }: LoadOptions): Promise<LoadedKernel> {
    checkDialect(this.#device, kernel);
    const key = kernelKey(kernel);
    let building = this.#functions.get(key);
    if (building?.abandoned !== false) {
      building = new SharedWork((abandoned) => this.#buildOnce(key, kernel, debug, abandoned));
      this.#functions.set(key, building);
    }
    return new DeviceKernel(this.#device, kernel, await building.join(signal), debug);
  }

  async #buildOnce(
    key: string,
    kernel: EmittedKernel,
    debug: LoadOptions['debug'],
    signal: AbortSignal,
  ): Promise<NativeFunction> {
    try {
      const native = await this.#build(kernel, { debug, signal });
      this.#noteLoaded(native);
      return native;
    } catch (error) {
      if (!signal.aborted) this.#functions.delete(key);
      throw error;
    }
  }

  /** Images are memory that the collector does not see; half of them may be garbage. */
  #noteLoaded({ isImage }: NativeFunction): void {
    if (!isImage || ++this.#loadedSinceCollection <= this.#device.kernelLimit) return;
    this.#loadedSinceCollection = 0;
    collectGarbage();
  }
}

/** @throws MercerError DEVICE_MISMATCH for a kernel whose text is for the other kind of device */
export function checkDialect(device: Device, kernel: EmittedKernel): void {
  if (kernel.dialect === device.kind) return;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `loading ${kernel.name}: its text is for '${kernel.dialect}' and the device is ${device.id}. Emit it for '${device.kind}'.`,
  );
}
