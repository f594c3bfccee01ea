import type { DeviceMatrix, DeviceRegion } from '@mercer/cuda-runtime';
import {
  dtypeBytes,
  isTensor,
  type Device,
  type Storage,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import type { LinalgDType } from '../checks.js';
import type { CudaCall } from './cuda-call.js';

/** Column-major matrices without gaps, one after the other, in memory of a call. */
export interface Dense {
  readonly storage: Storage;
  readonly dtype: LinalgDType;
  readonly rows: number;
  readonly columns: number;
  /** How many matrices. */
  readonly count: number;
}

/** Memory that a call works in; given back, in stream order, when the scratch is disposed. */
export class Scratch implements Disposable {
  readonly stream: Stream;
  /** Matrices of the call. */
  readonly count: number;
  readonly #call: Pick<CudaCall, 'setting' | 'stream'>;
  readonly #storages: Storage[] = [];

  constructor(call: Pick<CudaCall, 'setting' | 'stream'>) {
    this.#call = call;
    this.stream = call.stream;
    this.count = countOf(call.setting.batchShape);
  }

  get device(): Device {
    return this.stream.device;
  }

  /** Memory of any kind. */
  bytes(bytes: number): Storage {
    const purpose = `workspace of ${this.#call.setting.what}`;
    const storage = this.device.allocate(bytes, { stream: this.stream, purpose });
    this.#storages.push(storage);
    return storage;
  }

  /** A matrix for each of the call, of the call's dtype unless it is said. */
  matrices(rows: number, columns: number, dtype = this.#call.setting.dtype): Dense {
    const { count } = this;
    const storage = this.bytes(count * rows * columns * dtypeBytes(dtype));
    return { storage, dtype, rows, columns, count };
  }

  /** int32 zeros, `per` for each matrix: where a library leaves its infos. */
  codes(per = 1): Storage {
    const storage = this.bytes(4 * per * this.count);
    clear(this.#call, storage);
    return storage;
  }

  [Symbol.dispose](): void {
    for (const storage of this.#storages) storage.dispose();
  }
}

/** Fills a storage, or a tensor without gaps, with zero bytes. */
export function clear(
  { stream, setting: { what } }: Pick<CudaCall, 'stream' | 'setting'>,
  memory: Storage | Tensor,
): void {
  const bytes = isTensor(memory) ? memory.size * dtypeBytes(memory.dtype) : memory.bytes;
  if (bytes === 0) return;
  enqueueNative(stream, { what, writes: [memory], tellsMemory: true }, ({ stream: native }) => {
    const { buffer, byteOffset = 0 } = regionOf(memory);
    native.memset(buffer, byteOffset, 0, bytes);
  });
}

/** How many matrices a batch has. */
export function countOf(batchShape: readonly number[]): number {
  return batchShape.reduce((product, extent) => product * extent, 1);
}

/** Matrix z as libraries take it. */
export function at(dense: Dense, z: number): DeviceMatrix {
  const byteOffset = z * dense.rows * dense.columns * dtypeBytes(dense.dtype);
  return placed(dense, (storage) => ({ ...regionOf(storage), byteOffset }));
}

/** One matrix, where its place is, as libraries take it. */
export function placed(
  { storage, rows }: Dense,
  place: (storage: Storage) => DeviceRegion,
): DeviceMatrix {
  return { ...place(storage), leadingDimension: Math.max(1, rows) };
}

/** Element i of an array of elements of `bytes` bytes. */
export function element(storage: Storage, i: number, bytes: number): DeviceRegion {
  return { ...regionOf(storage), byteOffset: i * bytes };
}
