import type { DeviceLimits, EmittedKernel } from '@mercer/kernels';
import type { DebugOption } from '@mercer/jit-cache';
import type { LoadedKernel } from './loaded-kernel.js';
import type { Storage } from './storage.js';
import type { Stream } from './stream.js';

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
  /** A stream beside the default one. A lower number is a higher priority; the CPU has one priority. */
  createStream(options?: { readonly priority?: number }): Stream;
  /** Resolves when the work of all streams enqueued so far is done; rejects with the device's error. */
  synchronize(): Promise<void>;
  memory(): DeviceMemory;
  /**
   * Memory without a tensor, for workspaces. Whoever allocates it disposes it; that may be right after the launch that
   * uses it, because memory is returned in stream order.
   *
   * @throws MercerError OUT_OF_MEMORY
   */
  allocate(bytes: number, options?: AllocateOptions): Storage;
  /** Compiles the kernel through the cache and loads it, once per device. */
  load(kernel: EmittedKernel, options?: { readonly debug?: DebugOption }): Promise<LoadedKernel>;
}
