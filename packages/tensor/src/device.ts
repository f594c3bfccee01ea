import type {
  BuiltinKernel,
  DeviceLimits,
  DType,
  EmittedKernel,
  LaunchableKernel,
  Scalars,
} from '@mercer/kernels';
import type { CpuExecutor } from './cpu-executor.js';
import type { DebugOption } from '@mercer/jit-cache';
import type { OptionNames } from '@mercer/options';

/** 'cpu', or 'cuda:' and the index of a GPU. */
export type DeviceId = 'cpu' | `cuda:${number}`;

/** A device by name, 'cuda' being the first GPU, or the device itself. */
export type DeviceLike = 'cpu' | 'cuda' | `cuda:${number}` | Device;

/** Memory of one device as this program sees it, in bytes. */
export interface DeviceMemory {
  readonly device: DeviceId;
  /** Bytes of all live storages. */
  readonly liveBytes: number;
  /** Live storages; several tensors may be views of one. */
  readonly liveStorages: number;
  /** Highest `liveBytes` so far. */
  readonly peakBytes: number;
  /** Tensors that were collected without having been disposed, and freed by the backstop. */
  readonly leaks: number;
  /**
   * Bytes of storages that were freed because the tensor, or the result not launched yet, that held them last was collected: `liveBytes + leakedBytes` is what was
   * never given back by the program, whenever garbage is collected.
   */
  readonly leakedBytes: number;
  /** Free and total memory of the device itself, all programs together. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Options of `device.allocate`. */
export interface AllocateOptions {
  /** Where the memory is first used; default: the device's default stream. */
  readonly stream?: Stream | undefined;
  /** What the memory is for, shown in the table of live bytes. */
  readonly purpose?: string;
  /** Zeroed memory where the device has such at no cost (the CPU); elsewhere the content is undefined all the same. */
  readonly zeroed?: boolean;
}

/** Names of {@link AllocateOptions}. @internal */
export const ALLOCATE_OPTIONS: OptionNames<AllocateOptions> = {
  stream: true,
  purpose: true,
  zeroed: true,
};

/** Options of `device.createStream`. */
export interface CreateStreamOptions {
  /** A lower number is a higher priority; the CPU has one priority. */
  readonly priority?: number;
}

/** Names of {@link CreateStreamOptions}. @internal */
export const CREATE_STREAM_OPTIONS: OptionNames<CreateStreamOptions> = { priority: true };

/** What ends a call early. */
export interface SignalOption {
  /**
   * Rejects the call with the signal's reason, until its promise resolves: while kernels are planned and compiled (which stops once no
   * other call waits for it; a compile that the call does not wait for goes on), while it waits for a device or for room on a stream, between launches and between pieces of memory.
   * What a device was given already runs to its end; memory of the call's own is returned behind it, and a tensor that was given as
   * `out`, or is overwritten, holds anything then.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Names of {@link SignalOption}. @internal */
export const SIGNAL_OPTION: OptionNames<SignalOption> = { signal: true };

/** How far a call is. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Who looks on while a call goes on. */
export interface ProgressOption {
  /** Called whenever more is done; what is counted stands beside the call. What it throws rejects the call. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Who looks on while a call goes on, and may end it. */
export interface WatchOptions extends SignalOption, ProgressOption {}

/** Names of {@link ProgressOption}. @internal */
export const PROGRESS_OPTION: OptionNames<ProgressOption> = { onProgress: true };

/** Options of `device.load`, and of every call that loads kernels of its own. */
export interface LoadOptions extends SignalOption {
  /** Print what the compile cache did, compile times and launch geometry. */
  readonly debug?: DebugOption | undefined;
}

/** Names of {@link LoadOptions}. @internal */
export const LOAD_OPTIONS: OptionNames<LoadOptions> = { ...SIGNAL_OPTION, debug: true };

/** A GPU or the CPU: memory, streams, and the kernels loaded on it. There is one object per device. */
export interface Device {
  readonly kind: 'cpu' | 'cuda';
  readonly index: number;
  readonly id: DeviceId;
  /** Name of the hardware. */
  readonly name: string;
  /** What plans may know about the device. */
  readonly limits: DeviceLimits;
  readonly defaultStream: Stream;
  /**
   * Most bytes that storages of this device may hold together; beyond it, allocations fail like those of a full device.
   * undefined: what the device has.
   */
  memoryLimitBytes: number | undefined;
  /**
   * How many kernels, and plans of them, are remembered from one call to the next: those that were used last. Others are unloaded once
   * nothing can launch them; a prepared call keeps its own. They are found in the compile cache when they are needed again.
   * Default 1024.
   */
  kernelLimit: number;
  /** A stream beside the default one. A lower number is a higher priority; the CPU has one priority. */
  createStream(options?: CreateStreamOptions): Stream;
  /**
   * Resolves when the work of all streams enqueued so far is done; rejects with the device's error, or at once with the signal's reason
   * while the work goes on.
   */
  synchronize(options?: SignalOption): Promise<void>;
  memory(): DeviceMemory;
  /**
   * Memory without a tensor, for workspaces. Whoever allocates it disposes it; that may be right after the launch that
   * uses it, because memory is returned in stream order.
   *
   * @throws MercerError OUT_OF_MEMORY
   */
  allocate(bytes: number, options?: AllocateOptions): Storage;
  /**
   * On the CPU a compiler is killed after this time, and the interpreter computes what it can in the kernel's place, in this
   * process. A GPU's compiler cannot be killed. Default 30,000.
   */
  compileTimeoutMs: number;
  /** Compiles the kernel through the cache and loads it, once per device; waits for the compiler. */
  load(kernel: EmittedKernel, options?: LoadOptions): Promise<LoadedKernel>;
  /**
   * Loads several kernels, in the order given; what has to be compiled is compiled several at once. Every kernel is tried
   * even when one fails; then that failure is thrown, or a BatchError of @mercer/jit-cache with all of them.
   */
  loadAll(kernels: readonly EmittedKernel[], options?: LoadAllOptions): Promise<LoadedKernel[]>;
  /**
   * A function that the device's runtime has ready, as a kernel. Nothing is compiled, so there is nothing to wait for.
   *
   * @throws MercerError UNSUPPORTED on a GPU; the runtime's error where the function or its library is missing
   */
  loadBuiltin(kernel: BuiltinKernel): LoadedKernel;
}

/** Options of `device.loadAll`; progress counts kernels that are compiled, or found in the cache. */
export interface LoadAllOptions extends LoadOptions, ProgressOption {}

/** Names of {@link LoadAllOptions}. @internal */
export const LOAD_ALL_OPTIONS: OptionNames<LoadAllOptions> = {
  ...LOAD_OPTIONS,
  ...PROGRESS_OPTION,
};

/**
 * A queue of work on one device, first in, first out. Operations take `options.stream`; without it they use the device's
 * default stream. Work on two streams is ordered by the tensors it touches.
 */
export interface Stream {
  readonly device: Device;
  /** Readable name: 'cuda:0 stream 1'. */
  readonly label: string;
  /** Launches enqueued and not known to be finished. */
  readonly inFlight: number;
  /**
   * Resolves when another launch can be enqueued without blocking. Awaited operations do this themselves; call it
   * between synchronous calls of a prepared kernel.
   */
  room(options?: SignalOption): Promise<void>;
  /**
   * Resolves when everything enqueued so far is done; rejects with the device's error, or at once with the signal's reason while the
   * work goes on.
   */
  synchronize(options?: SignalOption): Promise<void>;
  /** Enqueued work still runs. Using the stream afterwards is an error; disposing it twice is not. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * A block of device memory, shared by the tensors that are views of it and counted by them. It remembers on which streams
 * it was last written and read, so that work on other streams waits and the memory is returned in order.
 */
export interface Storage {
  readonly device: Device;
  readonly bytes: number;
  /** First byte, as kernels see it; 0 where there are no bytes. */
  readonly address: number;
  /** What the memory is for, in the table of live bytes: "float32 [3, 4]", "workspace". */
  readonly purpose: string;
  readonly disposed: boolean;
  /** One owner less; the last one returns the memory, after the work that uses it. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Typed memory at a byte offset of a storage; a Tensor is one. */
export interface MemoryArgument {
  readonly storage: Storage;
  readonly byteOffset: number;
  readonly dtype: DType;
}

/** What a pointer parameter can be bound to: typed memory, untyped memory, or a bare address, which nothing tracks. */
export type PointerArgument = MemoryArgument | Storage | bigint;

/** Arguments of one launch. */
export interface LaunchArguments {
  /** One per pointer parameter, in their order. */
  readonly pointers: readonly PointerArgument[];
  /** By parameter name; may hold more, which geometry and cost may use. */
  readonly scalars: Scalars;
  /** One per tensorMap parameter, 128 bytes each (CUDA). */
  readonly tensorMaps?: readonly Uint8Array[];
}

/** A kernel on a device, ready to launch. */
export interface LoadedKernel {
  readonly device: Device;
  readonly kernel: LaunchableKernel;
  /** What runs it on the CPU; undefined on a GPU, and for a function that the runtime has ready. */
  readonly executor?: CpuExecutor | undefined;
  /**
   * Enqueues one launch and returns. Memory written on another stream is waited for by that stream's event; the uses are
   * noted, so that memory disposed right afterwards is returned when the launch is done. Blocks only while too many
   * launches are in flight; `await stream.room()` before it avoids that.
   *
   * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED, INVALID_ARGUMENT
   */
  launch(stream: Stream, args: LaunchArguments): void;
}

/** Options of operations that enqueue work. */
export interface StreamOption {
  /** Where the work is enqueued; default: the device's default stream. */
  readonly stream?: Stream | undefined;
}

/** Names of {@link StreamOption}. @internal */
export const STREAM_OPTION: OptionNames<StreamOption> = { stream: true };

/** Options of awaited operations that enqueue work: where, and what ends them early. */
export interface WorkOptions extends StreamOption, SignalOption {}

/** Names of {@link WorkOptions}. @internal */
export const WORK_OPTIONS: OptionNames<WorkOptions> = { ...STREAM_OPTION, ...SIGNAL_OPTION };

/** Options of what may carry elements from one device to another; progress counts bytes that were carried. */
export interface TransferOptions extends WorkOptions, ProgressOption {}

/** Names of {@link TransferOptions}. @internal */
export const TRANSFER_OPTIONS: OptionNames<TransferOptions> = {
  ...WORK_OPTIONS,
  ...PROGRESS_OPTION,
};
