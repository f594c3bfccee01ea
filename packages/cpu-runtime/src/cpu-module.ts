import { describeValue, type OptionNames } from '@mercer/options';
import { rawBinding } from './addon.js';
import { assertOwn, Branded } from './brand.js';
import { CpuStream } from './cpu-stream.js';
import { CpuRuntimeError } from './errors.js';
import { keepAliveOf } from './host-buffer.js';
import type { RawFunction, RawModule } from './raw-binding.js';
import { readOptions } from './read-options.js';

/** What a lookup of a kernel may be told. */
export interface FunctionOptions {
  /** The size of the packed parameters; when given, every launch is held to it. */
  readonly paramBytes?: number;
}

const FUNCTION_OPTIONS: OptionNames<FunctionOptions> = { paramBytes: true };

/** How a launch is cut: `tasks` calls' worth of work, claimed `chunk` at a time by the threads of the pool. */
export interface LaunchGeometry {
  readonly tasks: number;
  readonly chunk: number;
  /** Private memory of each thread that takes part, 64-byte aligned, not cleared. */
  readonly scratchBytes: number;
}

const GEOMETRY: OptionNames<LaunchGeometry> = { tasks: true, chunk: true, scratchBytes: true };

/** A compiled image in memory. Functions and enqueued launches keep it; `dispose()` only lets this handle go. */
export class CpuModule extends Branded {
  #raw: RawModule;

  /** @internal Use `cpu.loadModule`. */
  constructor(image: Uint8Array) {
    super();
    if (!(image instanceof Uint8Array)) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        'loading a compiled kernel failed: the image must be a Uint8Array, as cpu.compile returns it.',
      );
    }
    this.#raw = rawBinding().loadImage(image, true);
  }

  /**
   * The kernel with this `extern "C"` name.
   *
   * @param entry name of the function
   * @throws CpuRuntimeError `SYMBOL_NOT_FOUND`, `DISPOSED`
   */
  function(entry: string, options?: FunctionOptions): CpuFunction {
    const { paramBytes } = readOptions('looking up a kernel', options, FUNCTION_OPTIONS);
    if (typeof entry !== 'string' || !/^[A-Za-z_]\w*$/.test(entry)) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `looking up a kernel failed: ${describeValue(entry)} is no C identifier. Pass the extern "C" name.`,
      );
    }
    if (paramBytes !== undefined && !isCount(paramBytes)) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `looking up a kernel failed: paramBytes is ${describeValue(paramBytes)}. Pass the size in bytes of its packed parameters.`,
      );
    }
    return new CpuFunction(rawBinding().findFunction(this.#raw, entry), entry, paramBytes);
  }

  dispose(): void {
    rawBinding().disposeModule(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * One kernel of a module, `extern "C" void entry(const void* args, int64_t begin, int64_t end, void* scratch)`, or a
 * built-in function, which knows itself what scratch it needs.
 */
export class CpuFunction extends Branded {
  readonly entry: string;
  readonly paramBytes: number | undefined;
  #raw: RawFunction;

  /** @internal Use `module.function(entry)` or `cpu.builtin(name)`. */
  constructor(raw: RawFunction, entry: string, paramBytes: number | undefined) {
    super();
    this.#raw = raw;
    this.entry = entry;
    this.paramBytes = paramBytes;
  }

  /**
   * Enqueues the kernel on a stream and returns at once.
   *
   * @param geometry how the work is cut; 0 tasks are allowed and do nothing
   * @param stream where it is enqueued
   * @param params the packed parameters, copied now
   * @param keepAlive what must stay alive until the launch is done: buffers and views that `params` points into. A
   *   {@link HostBuffer} is kept even when it is disposed meanwhile. Do not transfer an ArrayBuffer before the launch is done.
   * @throws CpuRuntimeError `INVALID_ARGUMENT` for bad geometry or params of the wrong size, `DISPOSED`
   */
  launch(
    geometry: LaunchGeometry,
    stream: CpuStream,
    params: Uint8Array,
    keepAlive?: readonly object[],
  ): void {
    const read = readOptions(`launching ${this.entry}: the geometry`, geometry, GEOMETRY);
    this.enqueue(read, stream, params, keepAlive);
  }

  /** @internal As {@link launch}, with a geometry that has all its properties and no others. */
  enqueue(
    geometry: LaunchGeometry,
    stream: CpuStream,
    params: Uint8Array,
    keepAlive?: readonly object[],
  ): void {
    const { tasks, chunk, scratchBytes } = geometry;
    if (!isCount(tasks) || !isCount(chunk) || chunk === 0 || !isCount(scratchBytes)) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `launching ${this.entry} failed: tasks ${tasks}, chunk ${chunk}, scratchBytes ${scratchBytes}. ` +
          'Pass safe integers: tasks and scratchBytes of at least 0, chunk of at least 1.',
      );
    }
    if (this.paramBytes !== undefined && params.byteLength !== this.paramBytes) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `launching ${this.entry} failed: it takes ${this.paramBytes} bytes of parameters, got ${params.byteLength}. ` +
          'Pack them in the order and with the types of the kernel.',
      );
    }
    if (!(stream instanceof CpuStream)) assertOwn(stream, CpuStream, `launching ${this.entry}`);
    rawBinding().launch(
      stream.raw,
      this.#raw,
      tasks,
      chunk,
      scratchBytes,
      params,
      keepAlive?.map(keepAliveOf),
    );
  }

  dispose(): void {
    rawBinding().disposeFunction(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
