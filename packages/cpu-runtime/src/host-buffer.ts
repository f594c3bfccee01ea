import { describeValue } from '@mercer/options';
import { types } from 'node:util';
import { rawBinding } from './addon.js';
import { Branded } from './brand.js';
import { CpuRuntimeError, OutOfMemoryError } from './errors.js';
import type { RawBuffer } from './raw-binding.js';

/** Bytes that kernels and copies accept besides {@link HostBuffer}. */
export type HostBytes = ArrayBufferView | ArrayBuffer;

// Views of a buffer's memory must keep the buffer itself: its dispose() detaches them.
const owners = new WeakMap<ArrayBufferLike, HostBuffer>();

/**
 * Zeroed host memory, 64-byte aligned, of any size (byte counts beyond 2^32 are fine). Work that is enqueued keeps the
 * memory: `dispose()` gives it back once the last launch that uses it is done. A buffer that is forgotten is given back by
 * the garbage collector.
 *
 * @example
 * ```ts
 * import { cpu } from '@mercer/cpu-runtime';
 * const buffer = cpu.allocate(1024);
 * new Float32Array(buffer.arrayBuffer, buffer.byteOffset, 256).fill(1);
 * buffer.dispose();
 * ```
 */
export class HostBuffer extends Branded {
  /** Size in bytes. */
  readonly bytes: number;
  /** Where the memory starts, a multiple of 64. */
  readonly address: bigint;
  /** Where the memory starts inside {@link arrayBuffer}: 0 but in WebAssembly, and where the runtime forbids external buffers (Electron). */
  readonly byteOffset: number;
  #raw: RawBuffer;
  #arrayBuffer: ArrayBuffer | undefined;
  #disposed = false;

  /** @internal Use `cpu.allocate`. */
  constructor(bytes: number, forceInside = false) {
    super();
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `allocating host memory failed: ${describeValue(bytes)} is no number of bytes. Pass a safe integer of at least 0.`,
      );
    }
    this.bytes = bytes;
    const raw = rawBinding();
    try {
      if (raw.linearMemory !== undefined) {
        this.#raw = raw.allocate(bytes);
        this.byteOffset = Number(raw.addressOfBuffer(this.#raw));
      } else if (forceInside || externalForbidden) {
        [this.#raw, this.#arrayBuffer, this.byteOffset] = raw.allocateInside(bytes);
        owners.set(this.#arrayBuffer, this);
      } else {
        this.#raw = raw.allocate(bytes);
        this.byteOffset = 0;
      }
    } catch (cause) {
      if (cause instanceof CpuRuntimeError && cause.code === 'OUT_OF_MEMORY') {
        throw new OutOfMemoryError(bytes, raw.stats().liveBytes, { cause });
      }
      throw cause;
    }
    this.address = raw.addressOfBuffer(this.#raw);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * The memory itself as an ArrayBuffer, without a copy. Detached by `dispose()`.
   *
   * In WebAssembly it is the memory of all buffers, which the next allocation may detach (then this is another one), and which a
   * view does not keep: take views anew after every allocation and every `await`, and keep the buffer. Where it has several threads,
   * it is a SharedArrayBuffer, of which `TextDecoder` and `postMessage` take no copy.
   */
  get arrayBuffer(): ArrayBuffer {
    const { linearMemory } = rawBinding();
    if (linearMemory !== undefined) {
      rawBinding().addressOfBuffer(this.#raw); // throws where it is disposed
      return linearMemory;
    }
    if (this.#arrayBuffer === undefined) {
      const view = rawBinding().externalArrayBuffer(this.#raw);
      if (view === undefined) {
        throw new CpuRuntimeError(
          'INTERNAL',
          'making an ArrayBuffer of host memory failed: this runtime forbids external buffers and said so only now. ' +
            'Allocate the buffer again.',
        );
      }
      this.#arrayBuffer = view;
      owners.set(view, this);
    }
    return this.#arrayBuffer;
  }

  /** @internal The native handle, also of a disposed buffer (the addon refuses that one by name). */
  get raw(): RawBuffer {
    return this.#raw;
  }

  /** Gives the memory back when no enqueued work uses it. Calling it again does nothing. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    rawBinding().disposeBuffer(this.#raw, this.#arrayBuffer);
    this.#arrayBuffer = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

let externalForbidden = false;

/** Allocates, and finds out once whether this runtime allows external ArrayBuffers. */
export function allocateHost(bytes: number): HostBuffer {
  if (!probed) {
    probed = true;
    const raw = rawBinding();
    if (raw.linearMemory !== undefined) return new HostBuffer(bytes);
    const probe = raw.allocate(64);
    const view = raw.externalArrayBuffer(probe);
    externalForbidden = view === undefined;
    raw.disposeBuffer(probe, view);
  }
  return new HostBuffer(bytes);
}
let probed = false;

/** @internal What the addon keeps for an object that a launch needs. */
export function keepAliveOf(object: object): object {
  if (object instanceof HostBuffer) return object.raw;
  const memory = ArrayBuffer.isView(object) ? object.buffer : object;
  const owner = owners.get(memory as ArrayBufferLike);
  return owner === undefined ? object : owner.raw;
}

/** @internal An ArrayBuffer, or the memory of all buffers, which is a SharedArrayBuffer where WebAssembly has threads. */
export function isHostArrayBuffer(value: unknown): value is ArrayBuffer {
  return types.isArrayBuffer(value) || (value !== undefined && value === rawBinding().linearMemory);
}

/** @internal Throws for memory that can move or shrink under a running kernel. */
export function assertStable(view: unknown, what: string): asserts view is HostBytes {
  if (!ArrayBuffer.isView(view) && !isHostArrayBuffer(view)) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `${what} failed: got ${view === null ? 'null' : typeof view}. Pass a typed array, a DataView or an ArrayBuffer.`,
    );
  }
  const buffer = ArrayBuffer.isView(view) ? view.buffer : view;
  if ((buffer as { resizable?: boolean }).resizable === true) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `${what} failed: the ArrayBuffer is resizable, so its memory may vanish while a kernel runs. Pass a fixed-length one.`,
    );
  }
  if (isDetached(buffer)) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `${what} failed: the ArrayBuffer is detached (transferred or disposed). Pass the one that holds the data now.`,
    );
  }
}

/** Whether a runtime that can tell says so; where none can, Object.prototype is not asked either. */
function isDetached(buffer: ArrayBufferLike): boolean {
  const canTell = buffer instanceof ArrayBuffer && Object.hasOwn(ArrayBuffer.prototype, 'detached');
  return canTell && (buffer as { detached?: boolean }).detached === true;
}
