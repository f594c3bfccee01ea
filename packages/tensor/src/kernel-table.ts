import { availableParallelism } from 'node:os';
import {
  isEmitted,
  type BuiltinKernel,
  type EmittedKernel,
  type LaunchableKernel,
} from '@mercer/kernels';
import { debugPrinter, SharedWork, type DebugOption } from '@mercer/jit-cache';
import { own } from '@mercer/options';
import { collectGarbage } from './collect-garbage.js';
import { DeviceKernel } from './device-kernel.js';
import { needsCompiler, type CpuExecutor } from './cpu-executor.js';
import type { Device, LoadedKernel } from './device.js';
import {
  Executable,
  type CallLoadOptions,
  type CompileOptions,
  type ExecutableParts,
} from './executable.js';
import { kernelKey } from './kernel-key.js';
import { MercerError } from './mercer-error.js';
import type { NativeFunction } from './native-function.js';
import { predictedCompileMs, predictedInterpreterMs } from './predicted-times.js';
import { RecentMap } from './recent-map.js';

/** What a device does with kernels. */
export interface KernelBuilders {
  executors(kernels: readonly EmittedKernel[]): Promise<'either' | CpuExecutor>;
  /** Compiles a text and loads it. */
  build(kernel: EmittedKernel, options: CompileOptions): Promise<NativeFunction>;
  interpret(kernel: EmittedKernel): NativeFunction | undefined;
  isCached(kernel: EmittedKernel): Promise<boolean>;
  /** A function of the runtime's own. */
  builtin(kernel: BuiltinKernel): NativeFunction;
}

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
  readonly #builders: KernelBuilders;
  readonly #functions: RecentMap<string, SharedWork<NativeFunction>>;
  readonly #executables = new WeakMap<EmittedKernel, Executable<LoadedKernel>>();
  readonly #builtins = new WeakMap<BuiltinKernel, LoadedKernel>();
  #loadedSinceCollection = 0;

  constructor(device: Device, builders: KernelBuilders) {
    this.#device = device;
    this.#builders = builders;
    this.#functions = new RecentMap(() => device.kernelLimit);
  }

  /** A kernel that is launched alone; a built-in function is there at once. */
  async get(kernel: LaunchableKernel, options: CallLoadOptions): Promise<LoadedKernel> {
    if (!isEmitted(kernel)) {
      const { signal, debug } = own(options, 'signal', 'debug');
      signal?.throwIfAborted();
      return this.builtin(kernel, debug);
    }
    let executable = this.#executables.get(kernel);
    if (executable === undefined) {
      checkDialect(this.#device, kernel);
      executable = new Executable({
        ...this.partsOf([kernel]),
        compiled: (within) => this.compiled(kernel, within),
        asked: () => Promise.resolve(this.asked(kernel)),
        interpreted: async (_, debug) => {
          const form = await this.interpreted(kernel, debug);
          return { form, milliseconds: (values) => this.interpreterMs([kernel], values) };
        },
      });
      this.#executables.set(kernel, executable);
    }
    return executable.load(options);
  }

  /** What is the same of every way to kernels that are launched together. */
  partsOf(
    launched: readonly LaunchableKernel[],
  ): Pick<ExecutableParts<never>, 'name' | 'compileTimeoutMs' | 'ways' | 'compileMs'> {
    const kernels = launched.filter(isEmitted);
    return {
      name: launched[0]?.name ?? '',
      compileTimeoutMs: () => this.#device.compileTimeoutMs,
      // built-in functions alone need neither
      ways: async () => (kernels.length === 0 ? 'compiled' : this.#builders.executors(kernels)),
      compileMs: async () => {
        const times = await Promise.all(kernels.map((kernel) => this.#compileMs(kernel)));
        const sum = times.reduce((all, one) => all + one, 0);
        return Math.max(sum / availableParallelism(), ...times);
      },
    };
  }

  /** @throws the compiler's or the loader's error */
  async compiled(
    kernel: LaunchableKernel,
    { debug, signal, behind }: CompileOptions,
  ): Promise<LoadedKernel> {
    if (!isEmitted(kernel)) return this.builtin(kernel, debug);
    checkDialect(this.#device, kernel);
    const key = kernelKey(kernel);
    let building = this.#functions.get(key);
    if (building?.abandoned !== false) {
      building = new SharedWork((abandoned, isBehind) =>
        this.#buildOnce(key, kernel, { debug, signal: abandoned, behind: isBehind }),
      );
      this.#functions.set(key, building);
    }
    return new DeviceKernel(this.#device, kernel, await building.join(signal, behind), debug);
  }

  /** @throws MercerError UNSUPPORTED where the kernel has no program for the interpreter */
  async interpreted(
    kernel: LaunchableKernel,
    debug: DebugOption | undefined,
  ): Promise<LoadedKernel> {
    if (!isEmitted(kernel)) return this.builtin(kernel, debug);
    checkDialect(this.#device, kernel);
    const native = this.#builders.interpret(kernel);
    if (native === undefined) throw await needsCompiler(kernel);
    return new DeviceKernel(this.#device, kernel, native, debug);
  }

  /** A kernel that is only asked for: it is not there, and never launched. */
  asked(kernel: LaunchableKernel): LoadedKernel {
    if (!isEmitted(kernel)) return this.builtin(kernel);
    return new DeviceKernel(this.#device, kernel, NOT_THERE, undefined);
  }

  /** How long the interpreter will take for kernels that compute so many values each. */
  interpreterMs(kernels: readonly LaunchableKernel[], values: number): number {
    const { limits } = this.#device;
    if (limits.kind === 'cuda') return Infinity;
    return kernels
      .filter(isEmitted)
      .reduce((sum, one) => sum + predictedInterpreterMs(one, values, limits), 0);
  }

  async #compileMs(kernel: EmittedKernel): Promise<number> {
    if (this.#functions.get(kernelKey(kernel))?.state === 'done') return 0;
    return (await this.#builders.isCached(kernel)) ? 0 : predictedCompileMs(kernel);
  }

  /** A built-in function, looked up once for each kernel value, and for each call that wants its lines. */
  builtin(kernel: BuiltinKernel, debug?: DebugOption): LoadedKernel {
    if (debugPrinter(debug) !== debugPrinter(undefined))
      return new DeviceKernel(this.#device, kernel, this.#builders.builtin(kernel), debug);
    let loaded = this.#builtins.get(kernel);
    if (loaded === undefined) {
      loaded = new DeviceKernel(this.#device, kernel, this.#builders.builtin(kernel), undefined);
      this.#builtins.set(kernel, loaded);
    }
    return loaded;
  }

  async #buildOnce(
    key: string,
    kernel: EmittedKernel,
    options: CompileOptions,
  ): Promise<NativeFunction> {
    try {
      const native = await this.#builders.build(kernel, options);
      this.#noteLoaded(native);
      return native;
    } catch (error) {
      if (options.signal?.aborted !== true) this.#functions.delete(key);
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

const NOT_THERE: NativeFunction = {
  isImage: false,
  executor: undefined,
  launch: () => {
    throw new Error('the kernel was only asked for');
  },
};

/** @throws MercerError DEVICE_MISMATCH for a kernel whose text is for the other kind of device */
export function checkDialect(device: Device, kernel: EmittedKernel): void {
  if (kernel.dialect === device.kind) return;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `loading ${kernel.name}: its text is for '${kernel.dialect}' and the device is ${device.id}. Emit it for '${device.kind}'.`,
  );
}
