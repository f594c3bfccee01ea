import { CpuRuntimeError, type CpuErrorCode } from '../errors.js';
import { HELPER, type WasmHost } from './helper.js';

/** The part of WebAssembly's JavaScript interface that is used: the types of Node have none, those of the DOM are not loaded. */
declare const WebAssembly: {
  readonly Memory: new (limits: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: boolean;
  }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => { readonly exports: unknown };
};

interface WasmMemory {
  /** A SharedArrayBuffer where it is shared with helpers. */
  readonly buffer: ArrayBuffer;
}

/** What native/wasm/exports.cc and team.cc export. Addresses and sizes are 32-bit numbers that may come as negative ones. */
export interface WasmExports {
  /** The module's stack, which calls that end with an error do not put back. */
  readonly __stack_pointer: { value: number };
  _initialize(): void;
  initialize(): void;
  allocate(bytes: number): number;
  release(address: number): void;
  params(bytes: number): number;
  make_program(words: number, wordCount: number, constants: number, constantCount: number): number;
  find_builtin(name: number, bytes: number): number;
  needs_lapack(fn: number): number;
  arg_bytes(fn: number): number;
  release_function(fn: number): void;
  launch(fn: number, tasks: bigint, chunk: bigint): LaunchStatus;
  set_threads(threads: number, maySleep: number): void;
  abandon(): void;
  helpers_ready(): number;
  times_helped(): number;
}

/** How a launch ended. */
export const LAUNCH_STATUS = { done: 0, tooLarge: 1, outOfMemory: 2 } as const;
type LaunchStatus = (typeof LAUNCH_STATUS)[keyof typeof LAUNCH_STATUS];

/** What a system call answers that there is none of: the C library's own messages go nowhere. */
const NO_SYSTEM = 52;

const PAGE_BYTES = 2 ** 16;
/** As the module is linked (scripts/build-wasm.mjs): what it has at first, and the most that addresses reach. */
const MEMORY = { initial: 2 ** 22 / PAGE_BYTES, maximum: 2 ** 32 / PAGE_BYTES };

/** What the module imports as its memory, up to the byte that says how: shared, with a maximum. */
const IMPORTED_MEMORY = new TextEncoder().encode('\x03env\x06memory\x02');
const SHARED = 3;
const ONLY_MAXIMUM = 1;

/** The module with memory of its own, of which nothing but that byte knows. */
function unshared(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const own = bytes.slice();
  const found = own.findIndex((_, at) => IMPORTED_MEMORY.every((byte, i) => own[at + i] === byte));
  const at = found + IMPORTED_MEMORY.length;
  if (found >= 0 && own[at] === SHARED) own[at] = ONLY_MAXIMUM;
  return own;
}

/** Memory for several threads; undefined where none can be had, as where addresses are short. */
function sharedMemory(): WasmMemory | undefined {
  try {
    return new WebAssembly.Memory({ ...MEMORY, shared: true });
  } catch {
    return undefined;
  }
}

/**
 * The module made ready to run. Errors of its code are {@link CpuRuntimeError}. Where the host has several cores, its memory is
 * shared with helpers, which begin with the first launch that has something for them.
 */
export class WasmModule {
  readonly exports: WasmExports;
  /** Whether there can be helpers. */
  readonly hasThreads: boolean;
  readonly #memory: WasmMemory;
  readonly #host: WasmHost;

  constructor(bytes: Uint8Array<ArrayBuffer>, host: WasmHost) {
    const shared = host.cores > 1 ? sharedMemory() : undefined;
    const memory = shared ?? new WebAssembly.Memory({ ...MEMORY, shared: false });
    this.#memory = memory;
    this.#host = host;
    this.hasThreads = shared !== undefined;
    const text = (address: number, length: number): string =>
      // A copy, because texts are not read out of shared memory.
      new TextDecoder().decode(this.bytes(address >>> 0, length >>> 0).slice());
    const module = new WebAssembly.Module(this.hasThreads ? bytes : unshared(bytes));
    const instance = new WebAssembly.Instance(module, {
      env: { memory },
      mercer: {
        fail: (code: number, codeBytes: number, message: number, messageBytes: number) => {
          throw new CpuRuntimeError(
            text(code, codeBytes) as CpuErrorCode,
            text(message, messageBytes),
          );
        },
        start_helper: (stack: number) => {
          try {
            host.startHelper(HELPER, { module, memory, stack: stack >>> 0 });
          } catch {
            // The work is done without it.
          }
        },
      },
      wasi_snapshot_preview1: {
        fd_close: () => NO_SYSTEM,
        fd_seek: () => NO_SYSTEM,
        fd_write: () => NO_SYSTEM,
      },
    });
    this.exports = instance.exports as WasmExports;
    this.exports._initialize();
    this.exports.initialize();
  }

  /** How many threads work side by side, the caller's among them. */
  setThreads(threads: number): void {
    this.exports.set_threads(threads, Number(this.#host.maySleep));
  }

  /**
   * The memory as it is now. Growth detaches this ArrayBuffer, and with it every view; where the memory is shared they stay, and
   * show what it was large then.
   */
  get buffer(): ArrayBuffer {
    return this.#memory.buffer;
  }

  /** A view for use before the next call of the module. */
  bytes(address: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.buffer, address, length);
  }

  /** Calls the module, whose stack is put back where the call ends with an error. */
  call<T>(body: (exports: WasmExports) => T): T {
    const { __stack_pointer: stack } = this.exports;
    const before = stack.value;
    try {
      return body(this.exports);
    } catch (error) {
      stack.value = before;
      // Helpers may still be at work on what the call left.
      this.exports.abandon();
      throw error;
    }
  }

  /** Zeroed memory, 64-byte aligned; 0 when there is no such amount. */
  allocate(bytes: number): number {
    return bytes > MOST_BYTES ? 0 : this.exports.allocate(bytes) >>> 0;
  }

  release(address: number): void {
    this.exports.release(address);
  }

  /** Copies of the parts, one behind the other at multiples of 8 bytes, for as long as `body` runs. */
  withCopies<T>(parts: readonly Uint8Array[], body: (addresses: readonly number[]) => T): T {
    let bytes = 0;
    const offsets = parts.map(({ length }) => {
      const offset = bytes;
      bytes += Math.ceil(length / 8) * 8;
      return offset;
    });
    const address = this.allocate(bytes);
    if (address === 0) throw outOfMemory(bytes);
    try {
      parts.forEach((part, i) => {
        this.bytes(address + (offsets[i] ?? 0), part.length).set(part);
      });
      return body(offsets.map((offset) => address + offset));
    } finally {
      this.release(address);
    }
  }

  /** Puts the parameters where the next launch reads them. */
  setParams(params: Uint8Array): void {
    const address = this.exports.params(params.length) >>> 0;
    if (address === 0) throw outOfMemory(params.length);
    this.bytes(address, params.length).set(params);
  }
}

/** Addresses have 32 bits. */
const MOST_BYTES = 2 ** 32 - 2 ** 16;

/** @returns the error of an allocation that failed */
export function outOfMemory(bytes: number): CpuRuntimeError {
  return new CpuRuntimeError(
    'OUT_OF_MEMORY',
    `allocating ${bytes} bytes of host memory failed. WebAssembly has 4 GiB at most.`,
  );
}
