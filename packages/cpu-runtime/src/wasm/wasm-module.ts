import { CpuRuntimeError, type CpuErrorCode } from '../errors.js';

/** The part of WebAssembly's JavaScript interface that is used: the types of Node have none, those of the DOM are not loaded. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => { readonly exports: unknown };
};

/** What native/wasm/exports.cc exports. Addresses and sizes are 32-bit numbers that may come as negative ones. */
export interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer };
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
}

/** How a launch ended. */
export const LAUNCH_STATUS = { done: 0, tooLarge: 1, outOfMemory: 2 } as const;
type LaunchStatus = (typeof LAUNCH_STATUS)[keyof typeof LAUNCH_STATUS];

/** What a system call answers that there is none of: the C library's own messages go nowhere. */
const NO_SYSTEM = 52;

/** The module made ready to run. Errors of its code are {@link CpuRuntimeError}. */
export class WasmModule {
  readonly exports: WasmExports;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    const text = (address: number, length: number): string =>
      new TextDecoder().decode(this.bytes(address >>> 0, length >>> 0));
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      mercer: {
        fail: (code: number, codeBytes: number, message: number, messageBytes: number) => {
          throw new CpuRuntimeError(
            text(code, codeBytes) as CpuErrorCode,
            text(message, messageBytes),
          );
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

  /** The memory as it is now: growth detaches this ArrayBuffer, and with it every view. */
  get buffer(): ArrayBuffer {
    return this.exports.memory.buffer;
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
